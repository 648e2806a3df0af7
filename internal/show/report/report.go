// Package report shows what the analyses tell about a run: for people in a terminal and as an HTML page, for
// programs as JSON and CSV. Compute does the analyses; Terminal, HTML, JSON and CSV are the faces.
package report

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"

	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Options of the faces; the zero value is a plain report for a terminal of 80 columns.
type Options struct {
	Color bool   // use ANSI colours
	Width int    // columns of the terminal; 0 means 80
	By    string // the terminal shows the split by this, if it was computed: as slou.Options.Splits; "" none
	Full  bool   // the terminal shows all tables
}

// JSON writes everything as one JSON object, times in integer nanoseconds. It begins with the members of
// slou.Result.
func JSON(w io.Writer, all *Everything, _ Options) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(struct {
		*slou.Result
		Warnings []string `json:"warnings"`
		*Everything
	}{all.SLOU, append([]string{}, all.Warnings()...), all}); err != nil {
		return err
	}
	_, err := w.Write(joinNumbers(text.Bytes()))
	return err
}

// numberList is an indented list of numbers. No string looks like that: it has no line ends.
var numberList = regexp.MustCompile(`\[\n\s+[-0-9][-+.0-9eE,\snul]*\]`)

// joinNumbers puts each list of numbers, of which there may be thousands, in one line.
func joinNumbers(indented []byte) []byte {
	return numberList.ReplaceAllFunc(indented, func(list []byte) []byte {
		list = bytes.Join(bytes.Fields(list[1:len(list)-1]), []byte(" "))
		return append(append([]byte{'['}, list...), ']')
	})
}
