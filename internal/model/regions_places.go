package model

import (
	"cmp"
	"path/filepath"

	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
)

// resolve turns addresses, where the trace has nothing else, into functions, files and lines: by the table
// that is kept with the trace, or else by the files of the program, if they are still there. It says what
// could not be read.
func (b *builder) resolve(traceDir string) (noPlaces string) {
	m := b.m
	addressed := make([]bool, len(m.Sites)) // statements of which only an address was recorded
	for i := range m.Sites {
		_, _, addressed[i] = symbols.Split(m.Sites[i].Text)
		addressed[i] = addressed[i] && m.Sites[i].File == ""
	}
	var unknown []string
	table, err := symbols.Load(traceDir)
	if err != nil {
		noPlaces = err.Error()
	}
	eachAddress(m, func(address string, _ func(symbols.Place)) {
		if _, known := table[address]; !known {
			unknown = append(unknown, address)
		}
	})
	var found symbols.Table
	if len(table) == 0 && len(unknown) > 0 {
		found = symbols.Resolve(unknown)
	}
	eachAddress(m, func(address string, set func(symbols.Place)) {
		p, ok := table[address]
		if !ok {
			p = found[address]
		}
		set(p)
	})
	b.nameConstructs(addressed)
	return noPlaces
}

// eachAddress gives the statements, code fragments and variables of which only an address was recorded.
func eachAddress(m *Model, f func(address string, set func(symbols.Place))) {
	nameVariables(m, f)
	for i := range m.Sites {
		s := &m.Sites[i]
		if _, _, ok := symbols.Split(s.Text); ok && s.File == "" {
			if m.isVariable(s) {
				f(s.Text, func(p symbols.Place) { ofVariable(s, s.Text, p) })
				continue
			}
			f(s.Text, func(p symbols.Place) {
				if s.Function, s.File, s.Line = p.Function, p.File, p.Line; s.File == "" {
					s.File, s.Line = filepath.Base(s.Text), 0 // calls from several places stay apart
				}
			})
		}
	}
	for i := range m.Codes {
		c := &m.Codes[i]
		// a function with the linker's name; the source's may be another one
		if _, _, ok := symbols.Split(c.File); ok {
			f(c.File, func(p symbols.Place) { c.Name, c.File, c.Line = cmp.Or(p.Function, c.Name), p.File, p.Line })
			continue
		}
		if _, _, ok := symbols.Split(c.Name); ok && c.File == "" {
			address := c.Name
			f(address, func(p symbols.Place) {
				if p.Function != "" {
					c.Name, c.File, c.Line = p.Function, p.File, p.Line
					if c.File == "" {
						c.File, c.Line = filepath.Base(address), 0
					}
				}
			})
		}
	}
}
