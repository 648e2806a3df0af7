package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// lateFile is a file in which both workers end before another stream writes its last block.
func lateFile(t *testing.T) []byte {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	for s := range 2 {
		w.Stream(s).Emit(1, KindProgramStarted, uint64(s), 0)
		w.Stream(s).Emit(100, KindProgramFinished, 0)
		w.Stream(s).Flush()
	}
	for i := range int64(3) {
		w.Stream(2).Emit(10+i, KindReadyQueue, 1)
		w.Stream(2).Flush()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, tracefile.FileName(0)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A file cut at the end of any block lacks something, and that is told.
func TestCutBetweenBlocks(t *testing.T) {
	data := lateFile(t)
	whole, err := openBytes(t, data)
	if err != nil || len(whole.Problems()) != 0 {
		t.Fatal(err, whole.Problems())
	}
	index := binary.LittleEndian.Uint64(data[len(data)-tracefile.TrailerSize:])
	ends := []int64{int64(index), int64(len(data) - tracefile.TrailerSize)}
	for _, b := range whole.files[0].Blocks {
		ends = append(ends, b.At)
	}
	for _, end := range ends {
		if r, err := openBytes(t, data[:end]); err != nil || len(r.Problems()) == 0 {
			t.Errorf("cut to %d of %d bytes: %v, nothing is said", end, len(data), err)
		}
	}
}

// A run.json that does not tell how the run ended says so, unless it was written without a word about it.
func TestEndNotTold(t *testing.T) {
	for text, want := range map[string]int{`{"ended": ""}`: 1, `{"ended": "done"}`: 0, `{}`: 0,
		`{"ended": null}`: 0} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tracefile.FileName(0)), lateFile(t), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, tracefile.RunFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := open(t, dir)
		if p := r.Missing(); len(p) != want ||
			want > 0 && !strings.HasPrefix(p[0].String(), "run.json: it does not") {
			t.Errorf("%s: %v", text, p)
		}
	}
}

// In a failed run, streams may end early, but not because a file was cut.
func TestCutOfFailedRun(t *testing.T) {
	data := wholeFile(t)
	for cut, want := range map[int]bool{0: false, 1: true, tracefile.TrailerSize: true} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tracefile.FileName(0)), data[:len(data)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := WriteRunInfo(dir, &RunInfo{Ended: EndedFailed}); err != nil {
			t.Fatal(err)
		}
		if p := open(t, dir).Missing(); len(p) > 0 != want {
			t.Errorf("%d bytes cut: %v", cut, p)
		}
	}
}

// Somebody removes, renames or replaces the file or its folder while it is written: the writer says so.
func TestTakenAway(t *testing.T) {
	for name, act := range map[string]func(dir, file string) error{
		"nobody":       func(string, string) error { return nil },
		"file removed": func(_, file string) error { return os.Remove(file) },
		"file renamed": func(_, file string) error { return os.Rename(file, file+"x") },
		"file replaced": func(_, file string) error {
			return errors.Join(os.Rename(file, file+"x"), os.WriteFile(file, nil, 0o600))
		},
		"folder removed": func(dir, _ string) error { return os.RemoveAll(dir) },
		"folder renamed": func(dir, _ string) error { return os.Rename(dir, dir+"x") },
		"elsewhere":      func(string, string) error { return os.Chdir(os.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			w, err := Create("trace", 0, Options{})
			if err != nil {
				t.Fatal(err)
			}
			w.Stream(0).Emit(1, KindIdle)
			if err := act("trace", filepath.Join("trace", tracefile.FileName(0))); err != nil {
				t.Fatal(err)
			}
			err = w.Close()
			if fine := name == "nobody" || name == "elsewhere"; fine != (err == nil) || !fine &&
				!strings.HasSuffix(err.Error(), "00000.wst was removed, renamed or replaced during the run") {
				t.Error(err)
			}
			if err := RewriteRunInfo("gone", &RunInfo{}); err == nil {
				t.Error("run.json was written into a new folder")
			}
		})
	}
}

// DFs and names that differ only beyond what is kept of them are different ones.
func TestLongIdentities(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	identity := make([]int64, 3000)
	w.DefineDF(1, 0, identity[:maxIdentity]) // kept whole
	for i, at := range []int{1023, 1024, 2999} {
		identity[at]++
		w.DefineDF(DF(2+i), 0, identity)
	}
	w.DefineDF(5, 0, identity[:2999])
	long := strings.Repeat("x", maxString)
	names := map[Name]bool{w.Name(long): true, w.Name(long + "y"): true, w.Name(long + "z"): true,
		w.Name(long + "y" + long): true}
	w.Stream(0).Emit(1, KindIdle)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	seen := map[uint64]bool{}
	r.Defs(0).EachDF(func(df DF, _ Name, list []int64) {
		seen[IdentityID(list)] = true
		if len(list) != maxIdentity {
			t.Errorf("DF %d has %d elements", df, len(list))
		}
	})
	if len(seen) != 5 || len(names) != 4 || len(r.Problems()) > 0 {
		t.Errorf("%d DFs of 5, %d names of 4: %v", len(seen), len(names), r.Problems())
	}
	for n := range names {
		if len(r.Defs(0).Name(n)) != maxString {
			t.Errorf("a name has %d bytes", len(r.Defs(0).Name(n)))
		}
	}
}

// The workers that run.json lists are bounded by what the files can have, and that is told. Honest numbers
// stay, even where a file is missing or its run was killed at once.
func TestBoundWorkers(t *testing.T) {
	data := lateFile(t)
	for name, c := range map[string]struct {
		nodes []NodeInfo
		want  []int
	}{
		"honest": {[]NodeInfo{{Node: 0, Workers: 64}, {Node: 1, Workers: 4000}}, []int{64, 4000}},
		"many":   {[]NodeInfo{{Node: 0, Workers: 1 << 30}}, []int{maxWorkers}},
		"nowhere": {[]NodeInfo{{Node: 7, Workers: 4096}, {Node: 8, Workers: 4096}},
			[]int{4096, len(data) / tracefile.BlockHeaderSize}},
		"again":    {[]NodeInfo{{Workers: 4096}, {Workers: 4096}}, []int{4096, 2 * (len(data) / tracefile.BlockHeaderSize)}},
		"negative": {[]NodeInfo{{Node: 1, Workers: -1}}, []int{0}},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tracefile.FileName(0)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := WriteRunInfo(dir, &RunInfo{Ended: EndedDone, Nodes: c.nodes}); err != nil {
			t.Fatal(err)
		}
		r := open(t, dir)
		told := strings.Contains(fmt.Sprint(r.Problems()), "workers more than the files can have")
		for i, n := range r.Run().Nodes {
			if n.Workers != c.want[i] || told != (name != "honest" && name != "negative") {
				t.Errorf("%s: node %d has %d workers, want %d; told: %v", name, n.Node, n.Workers, c.want[i], told)
			}
		}
	}
}
