package experiment

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
)

// The page of results has its own text and, for each experiment, a pair of marks:
//
//	<!-- experiment NAME -->
//	<!-- end of NAME -->
//
// What is between them is replaced; the figure is a file beside the page. All files are written under other
// names first, so that each is either the old one or the new one whenever writing is cut short.

func marks(name string) (begin, end string) {
	return "<!-- experiment " + name + " -->\n", "<!-- end of " + name + " -->\n"
}

// figures are the files that WritePage writes beside the page, by name.
func (r *Report) figures() map[string]string {
	texts := map[string]string{}
	for _, e := range r.Experiments {
		if name := e.figureName(); name != "" {
			texts[name] = e.figure()
		}
	}
	return texts
}

// figureName is the file of the experiment's curve; "" where it has none: particle in cell is a table of two
// rows.
func (e *Experiment) figureName() string {
	if e.plain || len(e.Points) <= 2 {
		return ""
	}
	return "experiment-" + e.Name + ".svg"
}

// page replaces the sections of the experiments that ran.
func (r *Report) page(old string) (string, error) {
	var failed error
	renew := func(name, text string) {
		begin, end := marks(name)
		head, rest, ok := strings.Cut(old, begin)
		_, tail, closed := strings.Cut(rest, end)
		if !ok || !closed {
			failed = cmp.Or(failed, fmt.Errorf("there is no section %q closed by %q", strings.TrimSpace(begin),
				strings.TrimSpace(end)))
			return
		}
		old = head + begin + "\n" + text + "\n" + end + tail
	}
	for _, e := range r.Experiments {
		renew(e.Name, r.markdown(e))
	}
	for _, c := range r.Costs {
		renew(c.Name, r.costMarkdown(c))
	}
	return old, failed
}

// WritePage renews the sections of a page of results, and the figures beside it.
func (r *Report) WritePage(file string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page, err := r.page(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	texts := map[string]string{file: page}
	for name, text := range r.figures() {
		texts[filepath.Join(filepath.Dir(file), name)] = text
	}
	return replace(texts)
}

// replace writes files, all of them or, if one cannot be written, none. Each is written within the writing of
// another one, so that nothing gets its name before all are there.
func replace(texts map[string]string) error {
	place := func() error { return nil }
	for name, text := range texts {
		then := place
		place = func() error {
			return files.Replace(name, func(w io.Writer) error {
				if _, err := io.WriteString(w, text); err != nil {
					return err
				}
				return then()
			})
		}
	}
	return place()
}
