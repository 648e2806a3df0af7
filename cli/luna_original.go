//go:build cgo

package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/luna/bundle"
)

// launcher gives the words that start the launcher of libraries.
func launcher() []string {
	self, err := os.Executable()
	if err != nil {
		return []string{"whyslow", "rts"}
	}
	switch filepath.Base(self) {
	case "luna", "rts": // a copy of that name, not a link
		return []string{filepath.Join(filepath.Dir(self), "rts")}
	}
	return []string{self, "rts"}
}

var (
	compilerSays = regexp.MustCompile(`^(.+?):([0-9]+):([0-9]+): ((?:fatal )?error|warning|note): `)
	compilerIn   = regexp.MustCompile(`^(.+?): (?:In .*|At global scope):$`)
)

// originalPositions makes positions in embedded blocks of a compiler's message what LuNA makes of them: lines
// and columns count from 0, and a block is named by where it begins.
func originalPositions(text string, p *luna.Program, carried *bundle.Program) string {
	lines := strings.Split(text, "\n")
	sources := map[string][]string{carried.File: strings.Split(carried.Source, "\n")}
	for file, source := range carried.Includes {
		sources[file] = strings.Split(source, "\n")
	}
	blocks := slices.Clone(p.Heads)
	for _, r := range p.Routines {
		if r.Body != nil {
			blocks = append(blocks, *r.Body)
		}
	}
	// at gives the position of a message in a block, and the block.
	at := func(line string) (pos luna.Pos, in *luna.Foreign, rest string) {
		m := compilerSays.FindStringSubmatch(line)
		if m == nil || sources[m[1]] == nil {
			return pos, nil, ""
		}
		n, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		pos = luna.Pos{File: m[1], Line: n, Col: column}
		if source := sources[m[1]]; n >= 1 && n <= len(source) {
			pos.Col = characterAt(source[n-1], column)
		}
		for i := range blocks {
			b := blocks[i].Pos
			if b.File == pos.File && cmp.Or(cmp.Compare(b.Line, pos.Line), cmp.Compare(b.Col, pos.Col)) <= 0 &&
				(in == nil || cmp.Or(cmp.Compare(in.Pos.Line, b.Line), cmp.Compare(in.Pos.Col, b.Col)) < 0) {
				in = &blocks[i]
			}
		}
		return pos, in, strings.TrimPrefix(line, m[0])
	}
	for i, line := range lines {
		if m := compilerIn.FindStringSubmatch(line); m != nil && sources[m[1]] != nil {
			for _, later := range lines[i+1:] {
				if _, in, _ := at(later); in != nil {
					lines[i] = fmt.Sprintf("in foreign block at %s:%d:%d:", in.Pos.File, in.Pos.Line-1, in.Pos.Col-1)
					break
				}
			}
			continue
		}
		if pos, in, rest := at(line); in != nil {
			kind := compilerSays.FindStringSubmatch(line)[4]
			lines[i] = fmt.Sprintf("compile: at %s:%d:%d: %s: %s", pos.File, pos.Line-1, pos.Col-1, kind, rest)
		}
	}
	return strings.Join(lines, "\n")
}

// characterAt gives the character of a line, counted from 1, at a compiler's column, where tabs reach to
// multiples of 8.
func characterAt(line string, column int) int {
	n, col := 1, 1
	for _, c := range line {
		if col >= column {
			break
		}
		if n++; c == '\t' {
			col = (col-1)/8*8 + 8
		}
		col++
	}
	return n
}
