package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMPIDoctor looks at what doctor says where ranks can be started, and where they cannot.
func TestMPIDoctor(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home := lunaHome(t)
	compilers := t.TempDir() // a PATH without mpirun
	if path, err := exec.LookPath("g++"); err == nil {
		if err := os.Symlink(path, filepath.Join(compilers, "g++")); err != nil {
			t.Fatal(err)
		}
	}
	unset := "unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe " +
		"OMPI_MCA_hwloc_base_binding_policy\n"
	for _, test := range []struct {
		name, command string
		code          int
		want          []string
	}{
		{"usable", "whyslow doctor", 0, []string{`(?m)^ok +MPI +built in, Open MPI \d`,
			`(?m)^ok +mpirun +mpirun \(Open MPI\)`, `(?m)^ok +MPI ranks +2 started in .*multiple`,
			`(?m)^ok +MPI binding`}},
		{"nothing set", unset + "whyslow doctor", 0, []string{`(?m)^ok +MPI ranks +2 started`}},
		{"one slot", "echo localhost slots=1 >hosts; unset OMPI_MCA_rmaps_base_oversubscribe; " +
			"OMPI_MCA_orte_default_hostfile=hosts whyslow doctor", 0,
			[]string{`(?m)^ok +MPI ranks +2 started`, `-> .*--oversubscribe`, `(?m)^ok +MPI slots +1,`}},
		{"on ranks", "mpirun -n 3 whyslow doctor", 0, []string{`(?m)^ok +MPI ranks +3 started`,
			`(?m)^ok +host \S+ +3 ranks, each rank may use \d+ of \d+ cores$`,
			`^\S+ +engine[^\n]+\n[^\n]+C\+\+ [^\n]+\n[^\n]+ cores`}},
		{"no such way", "OMPI_MCA_btl=none-such whyslow doctor", 1,
			[]string{`(?m)^MISSING +MPI ranks +cannot be started: .+\n +-> to see all of it: mpirun -n 2 /\S+ doctor --ranks`}},
		{"no mpirun", "PATH=" + compilers + " whyslow doctor", 1,
			[]string{`(?m)^MISSING +mpirun +not found\n +-> install openmpi-bin`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			command := strings.ReplaceAll(test.command, " whyslow", " "+home+"/bin/whyslow")
			stdout, stderr, code, err := shell(t.TempDir(), home, command)
			if err != nil || code != test.code {
				t.Fatalf("exit code %d, want %d, %v\n%s%s", code, test.code, err, stdout, stderr)
			}
			for _, want := range test.want {
				if !regexp.MustCompile(want).MatchString(stdout) {
					t.Errorf("no line matches %s in\n%s", want, stdout)
				}
			}
		})
	}
	if os.Geteuid() != 0 {
		return
	}
	if stdout, _, _, _ := shell(t.TempDir(), home, unset+"whyslow doctor"); !strings.Contains(stdout,
		"-> as root, use mpirun --allow-run-as-root") {
		t.Errorf("root is not told what mpirun wants:\n%s", stdout)
	}
}
