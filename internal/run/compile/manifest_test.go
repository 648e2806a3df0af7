package compile

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestParseRule(t *testing.T) {
	got := ParseRule("out.o: a\\ b.cpp /usr/c$$d.h \\\n  \\#x.h \\\n\t/e.h\n\nother: z\n")
	want := []string{"a b.cpp", "/usr/c$d.h", "#x.h", "/e.h"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzParseRule(f *testing.F) {
	f.Add("out.o: a.cpp \\\n b.h\n")
	f.Add("x:y: \\")
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range ParseRule(s) {
			if d == "" {
				t.Error("empty name")
			}
		}
	})
}

func TestManifestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &manifest{cwd: rapid.String().Draw(t, "cwd")}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			m.sources = append(m.sources, source{
				rapid.String().Draw(t, "path"), rapid.Int64().Draw(t, "size"), rapid.Int64().Draw(t, "mtime"),
				rapid.StringMatching(`[a-f0-9]*`).Draw(t, "hash")})
		}
		got, ok := parseManifest(m.text())
		if !ok || got.cwd != m.cwd || !slices.Equal(got.sources, m.sources) {
			t.Fatalf("%+v became %+v", m, got)
		}
	})
}

// Whatever is in the file, it is read or refused; what is cut off is refused.
func FuzzParseManifest(f *testing.F) {
	text := (&manifest{"/x", []source{{"/a b", 1, 2, "ff"}}}).text()
	f.Add(text)
	f.Add(text[:len(text)-6])
	f.Fuzz(func(t *testing.T, s string) {
		m, ok := parseManifest(s)
		if !ok {
			return
		}
		if again, ok := parseManifest(m.text()); !ok || again.cwd != m.cwd ||
			!slices.Equal(again.sources, m.sources) {
			t.Errorf("%q", s)
		}
	})
}
