#!/bin/sh
# A LuNA program on several computers, recorded.
#
#     sbatch job.sh PROGRAM.fa [argument]...      as a job of Slurm
#     RANKS=2 sh job.sh PROGRAM.fa [argument]...  here, without Slurm
#
# The trace goes to PROGRAM.JOB.trace in the current folder, and the report beside it.

#SBATCH --job-name=whyslow
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=8
#SBATCH --time=00:30:00
#SBATCH --signal=B:USR1@60
#SBATCH --output=%x.%j.log

set -eu
# module load gcc openmpi            # whatever your cluster calls them

program=$1
ranks=${SLURM_NTASKS:-${RANKS:-2}}
trace=$(basename "$program" .fa).${SLURM_JOB_ID:-local}.trace
# Without --cpus-per-task the ranks of a computer share its cores: then whyslow divides them itself.
workers=${SLURM_CPUS_PER_TASK:+-w $SLURM_CPUS_PER_TASK}

# Asked to end, mpirun asks the ranks after this many seconds, and kills them after as many again (else one).
export OMPI_MCA_odls_base_sigkill_timeout=5
# A computer whose network is gone is given up after a minute (else eight).
export OMPI_MCA_oob_tcp_keepalive_time=30 OMPI_MCA_oob_tcp_keepalive_intvl=10 OMPI_MCA_oob_tcp_keepalive_probes=3
mpirun -n "$ranks" --bind-to none whyslow run -q $workers -o "$trace" "$@" &
job=$!
# A minute before its time is over Slurm says so (USR1), and the program is told to end: the trace is whole up to there. At a scancel Slurm
# itself tells all processes; mpirun, told twice, would kill them.
end='kill -TERM $job 2>/dev/null || :'
trap "$end" USR1 INT TERM
[ -z "${SLURM_JOB_ID:-}" ] || trap : TERM
code=0
while kill -0 $job 2>/dev/null; do
    code=0
    wait $job || code=$?
done

whyslow report --html "${trace%.trace}.html" "$trace" || :
exit $code
