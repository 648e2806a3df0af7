package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/prof"
)

// What is printed fits into the terminal, as far as single words do, and loses no word.
func TestModulesFitTheTerminal(t *testing.T) {
	plan, err := config.Load(t.TempDir(), config.Flags{Modules: []string{"all"}}, prof.Modules())
	if err != nil {
		t.Fatal(err)
	}
	show := func(width int) string {
		text := ""
		for _, m := range describeModules(plan) {
			text += m.text(false, width)
		}
		return text
	}
	wide := show(0)
	for _, width := range []int{40, 60, 80, 120} {
		text := show(width)
		for _, l := range strings.Split(text, "\n") {
			if words := strings.Fields(l); utf8.RuneCountInString(l) > width && len(words) > 1 && !strings.HasPrefix(l,
				"  events") && !strings.HasPrefix(l, "  emits") {
				t.Errorf("%d columns: %s", width, l)
			}
		}
		if width < 80 && !strings.Contains(text, "\n  params    by_code=false\n                also print") {
			t.Errorf("%d columns: a parameter and what it means are not in two lines:\n%s", width, text)
		}
		if !slices.Equal(strings.Fields(text), strings.Fields(wide)) {
			t.Errorf("%d columns: words are missing", width)
		}
	}
}

func TestFold(t *testing.T) {
	if got := fold("ab ", "one two three four", 3, 12); got != "ab one two\n   three\n   four\n" {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-zß]{1,9}`)).Draw(t, "words")
		width := rapid.IntRange(0, 40).Draw(t, "width")
		text := fold("first ", strings.Join(words, " "), 4, width)
		if !slices.Equal(strings.Fields(text), append([]string{"first"}, words...)) {
			t.Fatalf("words: %q", text)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if width == 0 && len(lines) > 1 {
			t.Fatalf("%q", text)
		}
		for _, l := range lines[1:] {
			if utf8.RuneCountInString(l) > width && len(strings.Fields(l)) > 1 {
				t.Fatalf("%q is too long", l)
			}
		}
	})
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct{ flag, word, want string }{
		{"--events", "DFEvents.onCr", "DFEvents.onCreate"},
		{"--events", "CFEvents.onReady,DFEvents.onCr", "CFEvents.onReady,DFEvents.onCreate"},
		{"--modules", "+stat", "+state_module"},
		{"--modules", "-trace_writer_module,+stat", "-trace_writer_module,+state_module"},
		{"--set", "logger_module.form", "logger_module.format="},
		{"--set", "logger_module.format=c", "logger_module.format=csv"},
		{"--set", "state_module.emit=", ""},
		{"--set", "perfetto_module.args=t", "perfetto_module.args=true"},
		{"--group", "Mem", "Memory=on Memory=off"},
	} {
		var out bytes.Buffer
		cmd := rootCommand(console.IO{Out: &out, Err: &out})
		cmd.SetOut(&out)
		cmd.SetArgs([]string{"__complete", "run", c.flag + "=" + c.word})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range strings.Split(out.String(), "\n") {
			if strings.HasPrefix(l, ":") {
				break
			}
			got = append(got, strings.Split(l, "\t")[0])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %s: %q, want %q", c.flag, c.word, got, c.want)
		}
	}
}
