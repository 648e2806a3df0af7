// Package report shows what the analyses tell about a run: for people in a terminal and as an HTML page, for
// programs as JSON and CSV. Compute does the analyses; Terminal, HTML, JSON and CSV are the faces.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Options of the faces; the zero value is a plain report for a terminal of 80 columns.
type Options struct {
	Color bool   // use ANSI colours
	Width int    // columns of the terminal; 0 means 80
	Whole bool   // tables may be wider: nothing in them is cut or left out
	By    string // the terminal shows the split by this, if it was computed: as slou.Options.Splits; "" none
	Full  bool   // the terminal shows all tables
	// Compact JSON has no white space: a third of the bytes.
	Compact bool
}

// document is the report as JSON.
type document struct {
	*slou.Result
	SchemaVersion int      `json:"schema_version"` // of the schema that it conforms to
	Warnings      []string `json:"warnings"`       // reasons to doubt the figures
	*Everything
}

// JSON writes everything as one JSON object that conforms to Schema, times in integer nanoseconds. It begins
// with the members of slou.Result.
func JSON(w io.Writer, all *Everything, opt Options) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(document{all.SLOU, SchemaVersion,
		append([]string{}, all.Warnings()...), all}); err != nil {
		return err
	}
	if opt.Compact {
		_, err := w.Write(text.Bytes())
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	indent(out, text.Bytes())
	return out.Flush()
}

// indent writes JSON without white space as json.Indent would with two spaces, but each list of numbers, of
// which there may be thousands, in one line. It makes no copy of the text, which may have a gigabyte.
func indent(w *bufio.Writer, text []byte) {
	depth, quoted, inLine := 0, false, false
	newline := func() {
		_ = w.WriteByte('\n') // Flush tells what went wrong
		for range depth {
			_, _ = w.WriteString("  ")
		}
	}
	for i, c := range text {
		if quoted {
			_ = w.WriteByte(c)
			quoted = c != '"' || escaped(text[:i])
			continue
		}
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch c {
		case '{', '[':
			_ = w.WriteByte(c)
			depth++
			if inLine = c == '[' && numbers(text[i+1:]); !inLine && next != '}' && next != ']' {
				newline()
			}
			continue
		case '}', ']':
			depth--
			if before := text[i-1]; !inLine && before != '{' && before != '[' {
				newline()
			}
			inLine = false
		case '"':
			quoted = true
		}
		_ = w.WriteByte(c)
		switch {
		case c == ':' || c == ',' && inLine:
			_ = w.WriteByte(' ')
		case c == ',':
			newline()
		}
	}
}

// escaped tells whether what follows a part of a string is escaped.
func escaped(before []byte) bool {
	n := len(before) - len(bytes.TrimRight(before, `\`))
	return n%2 == 1
}

// numbers tells whether a list that begins with a number holds nothing else, or null.
func numbers(list []byte) bool {
	if list[0] != '-' && (list[0] < '0' || list[0] > '9') {
		return false
	}
	end := bytes.IndexByte(list, ']')
	return len(bytes.Trim(list[:end], "-+.0123456789eE,nul")) == 0
}
