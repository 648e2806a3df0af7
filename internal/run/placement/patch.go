package placement

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// context is how many lines around a change a patch shows.
const context = 3

// Patch writes edits as a unified diff, which patch and git apply take. read gives a file, name its name in
// the diff.
func Patch(edits []luna.Edit, read func(file string) ([]byte, error), name func(file string) string) (string,
	error) {
	byFile := map[string][]luna.Edit{}
	var order []string
	for _, e := range edits {
		if byFile[e.From.File] == nil {
			order = append(order, e.From.File)
		}
		byFile[e.From.File] = append(byFile[e.From.File], e)
	}
	slices.Sort(order)
	var b strings.Builder
	for _, file := range order {
		text, err := read(file)
		if err != nil {
			return "", err
		}
		changes, err := changed(string(text), byFile[file])
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", name(file), name(file))
		hunks(&b, lines(string(text)), changes)
	}
	return b.String(), nil
}

// change replaces lines from, up to without to, by others.
type change struct {
	from, to int
	text     []string
}

// lines splits text, each with its line end.
func lines(text string) []string {
	list := strings.SplitAfter(text, "\n")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// changed turns the edits of a file into changes of whole lines, in order.
func changed(text string, edits []luna.Edit) (list []change, err error) {
	slices.SortStableFunc(edits, func(a, b luna.Edit) int {
		return cmp.Or(cmp.Compare(a.From.Line, b.From.Line), cmp.Compare(a.From.Col, b.From.Col))
	})
	all := lines(text)
	// offset is that of a position in its line.
	offset := func(p luna.Pos) (int, error) {
		if p.Line < 1 || p.Line > len(all) {
			return 0, errors.New("it has changed")
		}
		at := 0
		for range p.Col - 1 {
			if at >= len(all[p.Line-1]) {
				return 0, errors.New("it has changed")
			}
			_, n := utf8.DecodeRuneInString(all[p.Line-1][at:])
			at += n
		}
		return at, nil
	}
	for i := 0; i < len(edits); {
		first := edits[i].From.Line
		var b strings.Builder
		last, done := first, 0 // up to where the source has been copied
		for ; i < len(edits) && edits[i].From.Line <= last; i++ {
			e := edits[i]
			from, err := offset(e.From)
			if err != nil {
				return nil, err
			}
			to, err := offset(e.To)
			if err != nil {
				return nil, err
			}
			if e.From.Line < last || from < done {
				return nil, errors.New("two rules overlap")
			}
			b.WriteString(all[last-1][done:])
			keep := b.String()
			b.Reset()
			b.WriteString(keep[:len(keep)-len(all[last-1])+from] + e.Text)
			last, done = e.To.Line, to
		}
		b.WriteString(all[last-1][done:])
		list = append(list, change{first - 1, last, lines(b.String())})
	}
	return list, nil
}

// hunks writes changes with the lines around them.
func hunks(b *strings.Builder, all []string, list []change) {
	put := func(sign byte, line string) {
		b.WriteByte(sign)
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	shift := 0
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].from-list[j-1].to <= 2*context {
			j++
		}
		from, to := max(0, list[i].from-context), min(len(all), list[j-1].to+context)
		more := 0
		for _, c := range list[i:j] {
			more += len(c.text) - (c.to - c.from)
		}
		fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", from+1, to-from, from+1+shift, to-from+more)
		at := from
		for _, c := range list[i:j] {
			for ; at < c.from; at++ {
				put(' ', all[at])
			}
			for ; at < c.to; at++ {
				put('-', all[at])
			}
			for _, line := range c.text {
				put('+', line)
			}
		}
		for ; at < to; at++ {
			put(' ', all[at])
		}
		shift += more
		i = j
	}
}
