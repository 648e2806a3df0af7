// Package report shows what the analyses tell about a run: for people in a terminal and as an HTML page, for
// programs as JSON and CSV. Compute does the analyses; Terminal, HTML, JSON and CSV are the faces.
package report

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Options of the faces; the zero value is a plain report for a terminal of 80 columns.
type Options struct {
	Color bool   // use ANSI colours
	Width int    // columns of the terminal; 0 means 80
	By    string // the terminal shows the split by this, if it was computed: as slou.Options.Splits; "" none
	Top   int    // rows of the tables of fragments and causes; 0 means 10
	Full  bool   // the terminal shows all tables
}

// document is the JSON face.
type document struct {
	*slou.Result
	Warnings  []string          `json:"warnings"`
	Advice    []advise.Advice   `json:"advice"`
	Critical  *critical.Result  `json:"critical"`
	Series    *counters.Result  `json:"series"`
	Lifecycle *lifecycle.Result `json:"lifecycle"`
	Imbalance *imbalance.Result `json:"imbalance"`
	Blame     *blame.Result     `json:"blame"`
	Pattern   *pattern.Result   `json:"pgas,omitempty"`
	Run       *Run              `json:"run"`
	Failed    []Failure         `json:"failed"`
}

// JSON writes everything as one JSON object, times in integer nanoseconds. It begins with the members of
// slou.Result.
func JSON(w io.Writer, all *Everything, _ Options) error {
	doc := document{Result: all.SLOU, Warnings: append([]string{}, all.Warnings()...),
		Advice: append([]advise.Advice{}, all.Advice...), Critical: all.Critical, Series: all.Series,
		Lifecycle: all.Lifecycle,
		Imbalance: all.Imbalance, Blame: all.Blame, Pattern: all.Pattern,
		Run: all.Run, Failed: append([]Failure{}, all.Failed...)}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := w.Write(indent(text.Bytes()))
	return err
}

// indent lays compact JSON out in lines, as json.Indent does with two blanks, but leaves lists of numbers, of
// which there may be thousands, in one line.
func indent(src []byte) []byte {
	dst := make([]byte, 0, len(src)+len(src)/2)
	depth, inString, inNumbers := 0, false, false
	line := func() {
		dst = append(dst, '\n')
		for range depth {
			dst = append(dst, ' ', ' ')
		}
	}
	for i := 0; i < len(src); i++ {
		c := src[i]
		if inString {
			dst = append(dst, c)
			if c == '\\' {
				i++
				dst = append(dst, src[i])
			}
			inString = c != '"'
			continue
		}
		switch c {
		case '"':
			inString = true
			dst = append(dst, c)
		case '{', '[':
			dst = append(dst, c)
			switch next := src[i+1]; {
			case next == c+2: // empty; ']' and '}' are two after their openings
				i++
				dst = append(dst, next)
			case c == '[' && (next == '-' || next >= '0' && next <= '9'):
				inNumbers = true
			default:
				depth++
				line()
			}
		case '}', ']':
			if inNumbers {
				inNumbers = false
			} else {
				depth--
				line()
			}
			dst = append(dst, c)
		case ',':
			dst = append(dst, c)
			if inNumbers {
				dst = append(dst, ' ')
			} else {
				line()
			}
		case ':':
			dst = append(dst, ':', ' ')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
