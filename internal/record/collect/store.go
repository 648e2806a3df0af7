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

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// The folder: DIR/PROGRAM.NNN.trace for each run.

// stateFile stands beside the trace in each run's folder.
const stateFile = "collect.json"

// state is what collect.json holds: what is known of a run beside its trace.
type state struct {
	ID        string    `json:"id"`
	Senders   []*sender `json:"senders"`
	Finished  []int     `json:"finished"`            // nodes whose files have their index
	Forwarded string    `json:"forwarded,omitempty"` // the collector that has all of it
}

// sender is one who sends nodes of a run, or has sent them.
type sender struct {
	Name    string              `json:"name"`
	Version string              `json:"version,omitempty"`
	Info    *trace.RunInfo      `json:"info"`
	Nodes   []int               `json:"nodes"` // that it opened last
	Lost    map[int]stream.Lost `json:"lost,omitempty"`
	Ended   bool                `json:"ended"` // it has sent all there is

	conn *conn // nil: not connected
	lag  lag
}

func (s *sender) has(node int) bool { return slices.Contains(s.Nodes, node) }

// folderName is what a run's folder is called before its number. The name of a program
// that somebody sent must not lead out of DIR, nor hide there.
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

// newFolder makes the folder of a new run.
func newFolder(dir, program string) (string, error) {
	base := folderName(program)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	next := 1
	for _, e := range entries {
		middle, ok := strings.CutPrefix(e.Name(), base+".")
		if middle, ok2 := strings.CutSuffix(middle, ".trace"); ok && ok2 {
			var n int
			if _, err := fmt.Sscanf(middle, "%d", &n); err == nil && n >= next && n < 1e9 {
				next = n + 1
			}
		}
	}
	for ; ; next++ {
		path := filepath.Join(dir, fmt.Sprintf("%s.%03d.trace", base, next))
		if err := os.Mkdir(path, 0o777); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// readState reads the collect.json of a folder; fs.ErrNotExist: it is none of ours.
func readState(dir string) (*state, error) {
	path := filepath.Join(dir, stateFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	st := new(state)
	if err := json.Unmarshal(text, st); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !stream.ValidRun(st.ID) {
		return nil, fmt.Errorf("%s: no run is named in it", path)
	}
	for _, s := range st.Senders {
		if s == nil || s.Info == nil {
			return nil, fmt.Errorf("%s: a sender in it lacks what it said of the run", path)
		}
	}
	return st, nil
}

// writeState replaces the collect.json of a folder at once.
func writeState(dir string, st *state) error {
	text, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, stateFile)
	// One goroutine at a time writes it, under the lock of the run.
	tmp := path + ".tmp"
	if err = os.WriteFile(tmp, append(text, '\n'), 0o666); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// size is how many bytes the files of a folder take.
func size(dir string) int64 {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0 // it is gone
	}
	sum := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// load finds the runs that were collected before.
func (c *Collector) load() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
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
		r := c.newRun(st.ID, dir)
		r.senders, r.forwarded = st.Senders, st.Forwarded
		for _, node := range st.Finished {
			if node >= 0 && node <= trace.MaxNode {
				r.files[node] = new(file)
				r.files[node].finished.Store(true)
			}
		}
		if r.info, err = trace.ReadRunInfo(dir); err != nil {
			r.info = merge(r.id, r.senders, nil)
		}
		n := size(dir)
		r.bytes.Store(n)
		c.bytes.Add(n)
		c.runs[r.id] = r
	}
	return nil
}
