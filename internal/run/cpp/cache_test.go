package cpp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestParseDeps(t *testing.T) {
	got := parseDeps("out.o: a\\ b.cpp /usr/c$$d.h \\\n  \\#x.h \\\n\t/e.h\n\nother: z\n")
	want := []string{"a b.cpp", "/usr/c$d.h", "#x.h", "/e.h"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzParseDeps(f *testing.F) {
	f.Add("out.o: a.cpp \\\n b.h\n")
	f.Add("x:y: \\")
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range parseDeps(s) {
			if d == "" {
				t.Error("empty name")
			}
		}
	})
}

func TestManifestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &manifest{out: rapid.StringMatching(`[a-f0-9]+\.so`).Draw(t, "out")}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			m.deps = append(m.deps, dep{rapid.String().Draw(t, "path"), rapid.Int64().Draw(t, "size"), rapid.Int64().Draw(t, "mtime"), rapid.StringMatching(`[a-f0-9]*`).Draw(t, "hash")})
		}
		got, ok := parseManifest(m.text())
		if !ok || got.out != m.out || !slices.Equal(got.deps, m.deps) {
			t.Fatalf("%+v became %+v", m, got)
		}
	})
}

// Whatever is in the file, it is read or refused; what is cut off is refused.
func FuzzParseManifest(f *testing.F) {
	text := (&manifest{"h.so", []dep{{"/a b", 1, 2, "ff"}}}).text()
	f.Add(text)
	f.Add(text[:len(text)-6])
	f.Fuzz(func(t *testing.T, s string) {
		m, ok := parseManifest(s)
		if !ok {
			return
		}
		if again, ok := parseManifest(m.text()); !ok || again.out != m.out || !slices.Equal(again.deps, m.deps) {
			t.Errorf("%q", s)
		}
	})
}
