package report

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/html"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/internal/words"
)

// inLatin is what Russian texts may have in Latin letters beside the program's own names: events, parts of
// factors, modes of collectives, commands, files, numbers of locks, names that were cut, and these terms.
var inLatin = regexp.MustCompile(`\w+Events\.on\w+` +
	`|\b[SLOW]\.[-\w]+|\b(IN|OUT)_(ALL|MY|NO)SYNC\b` +
	`|\bwhyslow report --(json|full)|docs/[-\w]+\.md|--top|--json` +
	`|\b\d+\.wst\b|\brun\.json\b|\b0x[0-9a-f]+|\S+…` +
	`|\b(U|S|L|O|W|x|JSON|PGAS|req_count|whyslow)\b` +
	`|\b(sub|call|for|while|if)\b` + // the kinds of structured CFs, as the language has them
	`|\bprogram\b`) // stands for a program without a name

var (
	latinWord = regexp.MustCompile(`[A-Za-z_]+`)
	partRow   = regexp.MustCompile(`^\s*([-a-z]+): `) // of the table of factors
)

// TestNoEnglishInRussian: reports of the traces of all rooms' tests have no English words.
func TestNoEnglishInRussian(t *testing.T) {
	traces := textTraces(t, "../..")
	if len(traces) < 80 {
		t.Fatalf("only %d traces were found", len(traces))
	}
	for name, text := range traces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := twin.Parse(strings.NewReader(text), dir); err != nil {
				t.Skip(err) // a part of one, or meant to be wrong
			}
			m := sloutest.Load(t, dir)
			all, err := Compute(context.Background(), m, Wanted{Splits: []string{"node", "code", "index:0"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			all = all.In("ru")
			names, told := namesOf(m), map[string]bool{}
			for _, s := range textsOf(t, all) {
				rest := notRussian.ReplaceAllString(s, "")
				if row := partRow.FindStringSubmatch(rest); row != nil && isPart(row[1]) {
					rest = rest[len(row[0]):]
				}
				for _, w := range latinWord.FindAllString(inLatin.ReplaceAllString(rest, ""), -1) {
					if !names[w] && !told[w] {
						told[w] = true
						t.Errorf("%q in %q", w, s)
					}
				}
			}
		})
	}
}

func isPart(name string) bool {
	_, isMetric := words.Metrics[name]
	_, isPart := words.Parts[name]
	return isMetric || isPart
}

// textTraces finds the traces that tests have as text.
func textTraces(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "/testdata/") {
			return err
		}
		text, err := os.ReadFile(path)
		files := []txtar.File{{Data: text}}
		if filepath.Ext(path) == ".txtar" {
			files = txtar.Parse(text).Files
		}
		for _, f := range files {
			if bytes.HasPrefix(f.Data, []byte("#node ")) || bytes.Contains(f.Data, []byte("\n#node ")) {
				out[path+" "+f.Name] = string(f.Data)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// namesOf are the words of all that the program, or who ran it, has named.
func namesOf(m *model.Model) map[string]bool {
	info := m.Info
	list := slices.Concat([]string{info.Program, info.Message, info.Clock, info.ThreadClock}, info.Args,
		info.CommandLine, m.Names)
	for _, settings := range []map[string]string{info.Settings, info.Versions} {
		for k, v := range settings {
			list = append(list, k, v)
		}
	}
	for i := range m.Nodes {
		list = append(list, m.Nodes[i].Host)
		for k := range m.Nodes[i].Workers {
			for _, w := range m.Nodes[i].Workers[k].Waits {
				list = append(list, w.Name, w.What, w.Site)
			}
		}
	}
	for _, c := range m.Codes {
		list = append(list, c.Name, c.File)
	}
	for _, s := range m.Sites {
		list = append(list, s.Label, s.File, s.Text, s.DFs, s.Function)
	}
	if m.Regions != nil {
		for _, l := range m.Regions.Locks {
			list = append(list, l.Name, l.File)
		}
	}
	names := map[string]bool{}
	for _, w := range latinWord.FindAllString(strings.Join(list, " "), -1) {
		names[w] = true
	}
	return names
}

// textsOf are the texts of the page, with its tooltips, and the lines of the terminal.
func textsOf(t *testing.T, all *Everything) []string {
	t.Helper()
	var page, lines bytes.Buffer
	for _, full := range []bool{false, true} {
		if err := Terminal(&lines, all, Options{Full: full, Width: 9999}); err != nil {
			t.Fatal(err)
		}
	}
	if err := HTML(&page, all, Options{}); err != nil {
		t.Fatal(err)
	}
	out := strings.Split(lines.String(), "\n")
	z := html.NewTokenizer(&page)
	for hidden := false; ; {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				t.Fatal(z.Err())
			}
			return out
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Token()
			hidden = slices.Contains([]string{"script", "style", "code"}, tag.Data)
			for _, a := range tag.Attr {
				if slices.Contains([]string{"title", "aria-label", "alt", "placeholder"}, a.Key) {
					out = append(out, a.Val)
				}
			}
		case html.EndTagToken:
			hidden = false
		case html.TextToken:
			if !hidden {
				out = append(out, string(z.Text()))
			}
		}
	}
}
