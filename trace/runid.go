package trace

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// Which run a file belongs to. Its header has the first 12 bytes of the run's id. So files of two runs in one
// folder are noticed, and those of the other run left out: their events would make one run of two.

// NewRunID returns a random id for a run: 32 hex digits.
func NewRunID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// runMark is what a file's header tells of the id of its run; zero: nothing. 96 random bits are enough to
// tell runs apart.
type runMark [12]byte

// String is the mark in hex digits, as the id begins.
func (m runMark) String() string { return hex.EncodeToString(m[:]) }

func (m runMark) told() bool { return m != runMark{} }

// markOf is the mark of an id; that of "" is zero.
func markOf(id string) (m runMark, err error) {
	b, err := hex.DecodeString(id)
	if id != "" && (err != nil || len(b) < len(m)) {
		return m, fmt.Errorf("trace: the id of a run has 32 hexadecimal digits, unlike %q", id)
	}
	copy(m[:], b)
	return m, nil
}

// mark is the mark of the id in run.json; zero where that is none.
func (info *RunInfo) mark() (m runMark) {
	if info != nil {
		m, _ = markOf(info.ID)
	}
	return m
}

// ofRun is the run that a trace is of, and the file that says so; zero: none does.
type ofRun struct {
	run runMark
	by  string
}

// findRun finds out which run a trace is of, from its run.json and its files (nil: cannot be read). That
// is the run in run.json, unless every file tells of another. Else it is the run that most files tell of; of
// equally many, that of the first file.
func findRun(info *RunInfo, files []*nodeFile) ofRun {
	count := map[runMark]int{}
	for _, f := range files {
		if f != nil {
			count[f.run]++
		}
	}
	found := ofRun{info.mark(), runFile}
	if found.run.told() && count[found.run]+count[runMark{}] > 0 {
		return found
	}
	most := 0
	for _, f := range files {
		if f != nil && f.run.told() && count[f.run] > most {
			found, most = ofRun{f.run, f.name}, count[f.run]
		}
	}
	return found
}

// foreign says why something that tells of a run is left out, "" if it is not. What tells of none
// belongs to any.
func (o ofRun) foreign(run runMark) string {
	if !run.told() || !o.run.told() || run == o.run {
		return ""
	}
	return fmt.Sprintf("belongs to run %s, but %s to run %s: left out", run, o.by, o.run)
}
