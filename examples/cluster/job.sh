#!/bin/sh
# Runs and records a LuNA program on several computers.
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
# Without --cpus-per-task the ranks of a computer share its cores, and whyslow divides them.
workers=${SLURM_CPUS_PER_TASK:+-w $SLURM_CPUS_PER_TASK}

# When told to end, mpirun waits this long before it tells the ranks, and as long again before it kills them
# (default: one second).
export OMPI_MCA_odls_base_sigkill_timeout=5
# Give up a computer without network after a minute (default: eight).
export OMPI_MCA_oob_tcp_keepalive_time=30 OMPI_MCA_oob_tcp_keepalive_intvl=10 OMPI_MCA_oob_tcp_keepalive_probes=3
mpirun -n "$ranks" --bind-to none whyslow run -q $workers -o "$trace" "$@" &
job=$!
# A minute before the time limit Slurm sends USR1; end the program then, so that its trace is complete up to
# that point. On scancel Slurm itself signals all processes; a second signal from mpirun would kill them.
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
