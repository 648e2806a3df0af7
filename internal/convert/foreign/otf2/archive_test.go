package otf2_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/otf2"
	records "github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/trace"
)

// The test binary reads archives too, as whyslow does.
func TestMain(m *testing.M) {
	records.Serve(os.Args)
	os.Exit(m.Run())
}

const python = "/usr/bin/python3" // Debian's, which has the module

// archive writes an archive with a script for the Python module of OTF2, and returns its anchor file.
func archive(t *testing.T, script string) string {
	t.Helper()
	if !records.HasOTF2() {
		t.Skip("built without libotf2; go test -tags otf2 has it")
	}
	if err := exec.Command(python, "-c", "import otf2").Run(); err != nil {
		t.Skip("no Python module otf2: apt-get install python3-otf2")
	}
	dir := filepath.Join(t.TempDir(), "ranks")
	if out, err := exec.Command(python, "testdata/"+script, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "traces.otf2")
}

func loadArchive(t *testing.T, anchor string) (dir string, made bool, err error) {
	t.Helper()
	head, err := os.ReadFile(anchor)
	if err == nil && !otf2.Format.Is(head) {
		t.Errorf("%s is not known by its first bytes", anchor)
	}
	in, err := otf2.Format.Open(context.Background(), anchor)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "x.trace")
	made, err = foreign.Import(context.Background(), otf2.Format, in, nil, dir, trace.RunInfo{})
	if closed := in.Close(); closed != nil {
		err = closed
	}
	return dir, made, err
}

// TestArchive: an archive that another program has written comes in whole.
func TestArchive(t *testing.T) {
	dir, made, err := loadArchive(t, archive(t, "ranks.py"))
	if !made || err != nil {
		t.Fatal(made, err)
	}
	const want = `0.0 main 0-1000 function
0.0  MPI_Send 400-410 message
0.0  MPI_Barrier 700-710 barrier
  sent to 1, tag 7, 64 bytes, in visit 1, done in -1
  barrier of 0+1*2 [], root -1, 0 0 bytes, instance 0
1.0 main 0-1000 function
1.0  MPI_Recv 100-420 message
1.0  MPI_Barrier 500-710 barrier
  received from 0, tag 7, 64 bytes, in visit 1, posted 100
  barrier of 0+1*2 [], root -1, 0 0 bytes, instance 0
1 messages, MPI true, host, host`
	if diff := cmp.Diff(want, dump(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestClocks: times are on one clock, by the offsets that the archive tells, and locks of windows come in.
func TestClocks(t *testing.T) {
	dir, made, err := loadArchive(t, archive(t, "clocks.py"))
	if !made || err != nil {
		t.Fatal(made, err)
	}
	const want = `0.0 main 0-1000 function
0.0  MPI_Send 400-410 message
0.0  MPI_Win_lock 500-520 lock
0.0  MPI_Win_unlock 550-560 completion
  sent to 1, tag 7, 64 bytes, in visit 1, done in -1
  lock 3, acquired true, at 520
  lock 3, acquired false, at 550
1.0 main 0-1000 function
1.0  MPI_Recv 100-420 message
1.0  MPI_Win_lock 600-620 lock
1.0  MPI_Win_unlock 650-660 completion
  received from 0, tag 7, 64 bytes, in visit 1, posted 100
  lock 3, acquired true, at 620
  lock 3, acquired false, at 650
1 messages, MPI true, host, host`
	if diff := cmp.Diff(want, dump(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestDamagedArchive: whatever byte of whatever file is wrong, there is one line or a trace, and never a
// crash.
func TestDamagedArchive(t *testing.T) {
	anchor := archive(t, "ranks.py")
	folder := filepath.Dir(anchor)
	for _, name := range []string{"traces.otf2", "traces.def", "traces/0.def", "traces/0.evt", "traces/1.evt"} {
		file := filepath.Join(folder, name)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, data []byte) {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			_, made, err := loadArchive(t, anchor)
			if err != nil && (strings.Contains(err.Error(), "\n") || strings.TrimSpace(err.Error()) == "") {
				t.Errorf("%s %s: %q", name, what, err)
			}
			if err == nil && !made {
				t.Errorf("%s %s: no trace, and no error", name, what)
			}
		}
		if name != "traces.otf2" { // what is no archive is not given to libotf2
			try("empty", nil)
		}
		step := max(1, len(whole)/effort.Times(6, 100))
		for i := 7; i < len(whole); i += step {
			wrong := append([]byte{}, whole...)
			wrong[i] ^= 0x55
			try("wrong", wrong)
			try("cut", whole[:i])
		}
		if err := os.WriteFile(file, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
