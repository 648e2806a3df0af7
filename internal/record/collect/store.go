package collect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// The folder: DIR/PROGRAM.NNN.trace for each run.

// stateFile stands beside the trace in each run's folder.
const stateFile = "collect.json"

// state is what collect.json holds: what is known of a run beside its trace.
type state struct {
	ID        string    `json:"id"`
	From      string    `json:"from,omitempty"` // host that began it, whose share it takes
	Senders   []*sender `json:"senders"`
	Finished  []int     `json:"finished"`            // nodes whose files have their index
	Forwarded string    `json:"forwarded,omitempty"` // the collector that has all of it
	// senders that opened a node first, where they are not those that have it
	First map[int]string `json:"first,omitempty"`
}

// sender is one who sends nodes of a run, or has sent them.
type sender struct {
	Name    string              `json:"name"`
	Version string              `json:"version,omitempty"`
	Info    *trace.RunInfo      `json:"info"`
	Nodes   []int               `json:"nodes"` // of which it has sent something last
	Lost    map[int]stream.Lost `json:"lost,omitempty"`
	Ended   bool                `json:"ended"` // it has sent all there is

	conn *conn  // nil: not connected
	last uint64 // number of the newest connection of a sender of this name
	lag  lag
	free func() // gives back the memory of Info; nil: a sender from collect.json
}

// forget gives back the memory of what the sender said.
func (s *sender) forget() {
	if s.free != nil {
		s.free()
	}
}

// folderName names a run's folder. The name of a program from elsewhere must not lead out of DIR, nor hide.
func folderName(program string) string {
	program = strings.ReplaceAll(program, `\`, "/")
	program = program[strings.LastIndexByte(program, '/')+1:]
	program = strings.TrimSuffix(program, filepath.Ext(program))
	var b strings.Builder
	for _, c := range program {
		switch {
		case c != unicode.ReplacementChar && (unicode.IsLetter(c) || unicode.IsDigit(c)) ||
			strings.ContainsRune("_-+=", c) && b.Len() > 0:
			b.WriteRune(c)
		case b.Len() > 0:
			b.WriteByte('_')
		}
		if b.Len() >= 60 {
			break
		}
	}
	if b.Len() == 0 {
		return "run"
	}
	return b.String()
}

// maxState is how long a collect.json may be.
const maxState = 256 << 20

// readState reads the collect.json of a folder; fs.ErrNotExist: it is none of ours.
func readState(dir string) (*state, error) {
	path := filepath.Join(dir, stateFile)
	text, err := files.Read(path, maxState)
	if err != nil {
		return nil, err
	}
	st := new(state)
	if err := json.Unmarshal(text, st); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !stream.ValidRun(st.ID) {
		return nil, fmt.Errorf("%s: it names no run", path)
	}
	for _, s := range st.Senders {
		if s == nil || s.Info == nil {
			return nil, fmt.Errorf("%s: a sender in it has no description of its run", path)
		}
		slices.Sort(s.Nodes)
	}
	return st, nil
}

// writeState replaces the collect.json of a folder at once.
func writeState(dir string, st *state) error {
	text, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		return err
	}
	return files.ReplaceText(filepath.Join(dir, stateFile), append(text, '\n'))
}

// metaSize is how many bytes run.json and collect.json take.
func metaSize(dir string) (sum int64) {
	for _, name := range []string{stateFile, "run.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// load finds the runs that were collected before. Of each it keeps as little as of one that rests.
func (c *Collector) load() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	c.removeRests(entries)
	for _, e := range entries {
		dir := filepath.Join(c.dir, e.Name())
		if !e.IsDir() || !strings.HasSuffix(e.Name(), ".trace") {
			continue
		}
		st, err := readState(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			c.notify(fmt.Sprintf("%v; the run is left as it is", err))
			continue
		}
		if other := c.runs[st.ID]; other != nil {
			c.notify(fmt.Sprintf("%s and %s hold the same run; %s goes on if more of it comes", other.dir,
				dir, filepath.Base(other.dir)))
			continue
		}
		is, err := os.Stat(dir)
		if err != nil {
			continue // it was removed just now
		}
		r := c.newRun(st.ID, dir, st.From)
		r.is, r.made, r.saved, r.forwarded = is, true, true, st.Forwarded
		if r.info, err = trace.ReadRunInfo(dir); err != nil {
			r.info = merge(r.id, st.Senders, nil)
		}
		r.rest()
		r.meta = metaSize(dir)
		r.grow(files.Size(dir))
		c.enter(r)
	}
	return nil
}
