package otf2_test

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	records "github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// write writes a model as an archive, and returns its anchor file.
func write(t *testing.T, m *model.Model) string {
	t.Helper()
	if !records.HasOTF2() {
		t.Skip("built without libotf2; go test -tags otf2 has it")
	}
	dir := filepath.Join(t.TempDir(), "written")
	if err := records.Write(t.Context(), dir, m); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "traces.otf2")
}

// sums are what sums.py prints of an archive that a model was written to.
func sums(m *model.Model) string {
	visits, time, ends := map[string]int{}, map[string]int64{}, 0
	add := func(name string, from, to int64) {
		visits[name]++
		time[name] += to - from
	}
	for _, w := range m.AllWorkers() {
		for e := w.First; e < w.End; e++ {
			add(m.Codes[m.CodeOf(m.ExecCF[e])].Name, m.ExecStart[e], m.EndOf(e))
		}
	}
	if m.Regions != nil {
		for i := range m.Regions.Threads {
			x := &m.Regions.Threads[i]
			for v := range x.Enter {
				add(m.Codes[m.Sites[x.Site[v]].Code].Name, x.Enter[v], x.Exit[v])
			}
			ends += len(x.Sends) + len(x.Receives)
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(visits)) {
		fmt.Fprintln(&b, name, visits[name], time[name])
	}
	fmt.Fprintln(&b, "ends of messages", ends)
	return b.String()
}

// TestRoundTrip: a run that is written as an archive and read again is the same; OTF2's own readers see the
// same regions, times and messages.
func TestRoundTrip(t *testing.T) {
	first := filepath.Join(t.TempDir(), "first.trace")
	if made, err := load(small(), first); !made || err != nil {
		t.Fatal(made, err)
	}
	m := sloutest.Load(t, first)
	anchor := write(t, m)
	second, made, err := loadArchive(t, anchor)
	if !made || err != nil {
		t.Fatal(made, err)
	}
	if diff := cmp.Diff(dump(t, first), dump(t, second)); diff != "" {
		t.Error(diff)
	}
	out, err := exec.Command(python, "testdata/sums.py", anchor).CombinedOutput()
	if err != nil {
		t.Skipf("no Python module otf2: apt-get install python3-otf2: %s", out)
	}
	if diff := cmp.Diff(sums(m), string(out)); diff != "" {
		t.Error(diff)
	}
	out, err = exec.Command("otf2-print", anchor).CombinedOutput()
	if err != nil {
		t.Skipf("no otf2-print: apt-get install otf2-tools: %v", err)
	}
	visits := 0
	for i := range m.Regions.Threads {
		visits += len(m.Regions.Threads[i].Enter)
	}
	for event, want := range map[string]int{"ENTER ": visits, "LEAVE ": visits, "MPI_COLLECTIVE_END ": 2,
		"MPI_COLLECTIVE_BEGIN ": 2, "MPI_ISEND ": 1, "MPI_ISEND_COMPLETE ": 1, "MPI_IRECV_REQUEST ": 1,
		"MPI_IRECV ": 1, "RMA_PUT ": 1} {
		if n := strings.Count(string(out), "\n"+event); n != want {
			t.Errorf("otf2-print has %d events %s, not %d\n%s", n, event, want, out)
		}
	}
}

// TestWrittenSums: whatever the run, the archive has every visit and execution, as long as it was, and is
// read again.
func TestWrittenSums(t *testing.T) {
	for i := range 6 {
		text := rapid.Custom(sloutest.RandomRegions).Example(i)
		if i%2 == 0 {
			text = rapid.Custom(sloutest.Random).Example(i).Text()
		}
		m := sloutest.Build(t, text)
		anchor := write(t, m)
		out, err := exec.Command(python, "testdata/sums.py", anchor).CombinedOutput()
		if err != nil {
			t.Skipf("no Python module otf2: apt-get install python3-otf2: %s", out)
		}
		if want := sums(m); !strings.Contains(text, "onWait") && want != string(out) {
			t.Errorf("%s instead of %s\n%s", out, want, text)
		}
		if _, made, err := loadArchive(t, anchor); !made || err != nil {
			t.Errorf("%v %v\n%s", made, err, text)
		}
	}
}

// TestNames: names that we write are read again as they are.
func TestNames(t *testing.T) {
	dir, made, err := loadArchive(t, write(t, sloutest.Build(t, sloutest.Named())))
	if !made || err != nil {
		t.Fatal(made, err)
	}
	m := sloutest.Load(t, dir)
	var got []string
	for _, site := range m.Regions.Threads[0].Site {
		got = append(got, m.Codes[m.Sites[site].Code].Name)
	}
	want := slices.Clone(sloutest.Names)
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "\x00", " ") // OTF2 ends texts with it
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
