package debug

// Breakpoints and holds are kept for the next time that the program is debugged, in a file of its own below
// the folder for the state of programs (XDG_STATE_HOME, else ~/.local/state). Every change is written at
// once.

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/words"
)

// Saved is what is kept for the next time that a program is debugged.
type Saved struct {
	Program string   `json:"program"`         // its file
	Points  []string `json:"breakpoints"`     // see Point
	Holds   []string `json:"holds,omitempty"` // see Debugger.Hold
	file    string
}

// NewSaved is what OpenSaved gives where nothing was saved.
func NewSaved(program string) (*Saved, error) {
	abs, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("breakpoints cannot be saved: %w; set XDG_STATE_HOME", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	name := strings.TrimSuffix(filepath.Base(abs), filepath.Ext(abs))
	return &Saved{Program: abs, file: filepath.Join(state, "whyslow", "debug", fmt.Sprintf("%s-%.6x.json", name,
		sha256.Sum256([]byte(abs))))}, nil
}

// OpenSaved gives what was saved for the program of a file. It fails if what is there cannot be read.
func OpenSaved(program string) (*Saved, error) {
	s, err := NewSaved(program)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("breakpoints of the last time: %s: %w; --fresh begins without", s.file, err)
	}
	return s, nil
}

// Forget forgets everything.
func (s *Saved) Forget() error {
	if err := os.Remove(s.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.Points, s.Holds = nil, nil
	return nil
}

// save writes it down.
func (s *Saved) save() error {
	if len(s.Points)+len(s.Holds) == 0 {
		return s.Forget()
	}
	text, err := json.MarshalIndent(s, "", "\t")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.file), 0o755)
	}
	if err == nil {
		err = files.ReplaceText(s.file, append(text, byte(10)))
	}
	return err
}

// saving is do for what changes breakpoints or holds: they are saved.
func (d *Debugger) saving(f func() []*engine.Execution) error {
	var saved error
	failed := d.do(func() []*engine.Execution {
		list := f()
		s := d.opt.Saved
		if s == nil {
			return list
		}
		s.Points, s.Holds = nil, nil
		for _, p := range d.points {
			if !p.once && !p.fleeting {
				s.Points = append(s.Points, p.Text)
			}
		}
		for _, p := range d.holds {
			s.Holds = append(s.Holds, p.Text)
		}
		saved = s.save()
		return list
	})
	return cmp.Or(failed, saved)
}

// restore sets what was saved, as far as the program still has it.
func (d *Debugger) restore() {
	s := d.opt.Saved
	if s == nil {
		return
	}
	for _, text := range s.Points {
		p, err := parse(d.opt.Program, text)
		if err != nil {
			d.restored = append(d.restored, fmt.Sprintf("a breakpoint of the last time is left out: %v", err))
			continue
		}
		p.ID = int(d.last.Add(1))
		d.points = append(d.points, p)
	}
	d.publish()
	for _, text := range s.Holds {
		p, err := d.cfs(text)
		if err != nil {
			d.restored = append(d.restored, fmt.Sprintf("a hold of the last time is left out: %v", err))
			continue
		}
		d.holds = append(d.holds, p)
	}
	if len(d.points)+len(d.holds) > 0 {
		d.restored = append(d.restored, fmt.Sprintf("as last time: %s, %s; breaks lists them, clear and release"+
			" forget them", words.Count(len(d.points), "breakpoint"), words.Count(len(d.holds), "hold")))
	}
}

// Restored says, in lines, what was set because it was saved the last time, and what could not be.
func (d *Debugger) Restored() []string { return d.restored }
