package story

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

var update = flag.Bool("update", false, "rewrite what is expected (then check it on paper)")

func made(t sloutest.TB, m *model.Model) *timeline.Timeline {
	tl, err := timeline.Build(context.Background(), m, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// TestGolden tells the stories of hand-written traces. A file "cf 0.2 ru" is the story of the CF 0.2 in
// Russian, "df 0:1 en" that of a DF, "search mult 1" what is found.
func TestGolden(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		tl := made(t, sloutest.Build(t, files["trace"]))
		got := map[string]string{}
		for name := range files {
			if what, rest, ok := strings.Cut(name, " "); ok {
				got[name] = show(t, tl, what, rest)
			}
		}
		return got
	})
}

func show(t *testing.T, tl *timeline.Timeline, what, rest string) string {
	t.Helper()
	key, lang, _ := strings.Cut(rest, " ")
	var lines []Line
	var head any
	switch what {
	case "cf":
		s, err := CF(tl, key, lang)
		if err != nil {
			t.Fatal(err)
		}
		lines, s.Lines = s.Lines, nil
		head = s
	case "df":
		s, err := DF(tl, key, lang)
		if err != nil {
			t.Fatal(err)
		}
		lines, s.Lines = s.Lines, nil
		head = s
	case "search":
		found, err := NewIndex(tl).Search(rest, 20)
		if err != nil {
			t.Fatal(err)
		}
		head = found
	default:
		t.Fatal("no such golden: ", what)
	}
	var out strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&out, "%d n%d %s", l.T, l.Node, l.Text)
		if l.CF != "" {
			fmt.Fprintf(&out, " [%s]", l.CF)
		}
		if l.DF != "" {
			fmt.Fprintf(&out, " [%s]", l.DF)
		}
		out.WriteByte('\n')
	}
	if lang == "ru" {
		return out.String() // the rest is as in English
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(head); err != nil {
		t.Fatal(err)
	}
	// A member a line, as far as it is not empty.
	text := b.String()
	for _, member := range []string{`"state"`, `"runs"`, `"total_ns"`, `"inputs"`, `"outputs"`, `"children"`,
		`"producer"`, `"consumers"`, `"nodes"`, `{"kind"`} {
		text = strings.ReplaceAll(text, ","+member, ",\n  "+member)
	}
	return out.String() + text
}
