package tracefile

import (
	"encoding/hex"
	"fmt"
)

// Which run a file belongs to. Its header has the first 12 bytes of the run's id. So files of two runs in one
// folder are noticed, and those of the other run left out: their events would make one run of two.

// RunMark is what a file's header tells of the id of its run; zero: nothing. 96 random bits are enough to
// tell runs apart.
type RunMark [12]byte

// String is the mark in hex digits, as the id begins.
func (m RunMark) String() string { return hex.EncodeToString(m[:]) }

// Told reports whether the file tells of a run.
func (m RunMark) Told() bool { return m != RunMark{} }

// MarkOf is the mark of an id; that of "" is zero.
func MarkOf(id string) (m RunMark, err error) {
	b, err := hex.DecodeString(id)
	if id != "" && (err != nil || len(b) < len(m)) {
		return m, fmt.Errorf("trace: the id of a run has 32 hexadecimal digits, unlike %q", id)
	}
	copy(m[:], b)
	return m, nil
}

// RunFile is the file of a trace that describes the run.
const RunFile = "run.json"

// OfRun is the run that a trace is of, and the file that says so; zero: none does.
type OfRun struct {
	Run RunMark
	by  string
}

// FindRun finds out which run a trace is of, from the id in its run.json and its files (nil: cannot be read).
// That is the run in run.json, unless every file tells of another. Else it is the run that most files tell
// of; of equally many, that of the first file.
func FindRun(id string, files []*File) OfRun {
	count := map[RunMark]int{}
	for _, f := range files {
		if f != nil {
			count[f.Run]++
		}
	}
	mark, _ := MarkOf(id)
	found := OfRun{mark, RunFile}
	if found.Run.Told() && count[found.Run]+count[RunMark{}] > 0 {
		return found
	}
	most := 0
	for _, f := range files {
		if f != nil && f.Run.Told() && count[f.Run] > most {
			found, most = OfRun{f.Run, f.Name}, count[f.Run]
		}
	}
	return found
}

// Foreign says why something that tells of a run is left out, "" if it is not. What tells of none
// belongs to any.
func (o OfRun) Foreign(run RunMark) string {
	if !run.Told() || !o.Run.Told() || run == o.Run {
		return ""
	}
	return fmt.Sprintf("belongs to run %s, but %s to run %s: left out", run, o.by, o.Run)
}

// ForeignID is Foreign for the id of a run.
func (o OfRun) ForeignID(id string) string {
	mark, _ := MarkOf(id)
	return o.Foreign(mark)
}
