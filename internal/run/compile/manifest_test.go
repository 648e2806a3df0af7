package compile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseRule(t *testing.T) {
	got := parseRule("out.o: a\\ b.cpp /usr/c$$d.h \\\n  \\#x.h \\\n\t/e.h\n\nother: z\n")
	want := []string{"a b.cpp", "/usr/c$d.h", "#x.h", "/e.h"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzParseRule(f *testing.F) {
	f.Add("out.o: a.cpp \\\n b.h\n")
	f.Add("x:y: \\")
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range parseRule(s) {
			if d == "" {
				t.Error("empty name")
			}
		}
	})
}

func TestManifestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.read")
	text := rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
	rapid.Check(t, func(t *rapid.T) {
		m := &manifest{Cwd: text.Draw(t, "cwd")}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			m.Sources = append(m.Sources, source{
				text.Draw(t, "path"), rapid.Int64().Draw(t, "size"), rapid.Int64().Draw(t, "mtime"),
				rapid.StringMatching(`[a-f0-9]*`).Draw(t, "hash")})
		}
		if err := m.save(path); err != nil {
			t.Fatal(err)
		}
		if got := loadManifest(path); got == nil || got.Cwd != m.Cwd || !slices.Equal(got.Sources, m.Sources) {
			t.Fatalf("%+v became %+v", m, got)
		}
	})
}

// A manifest that is cut off anywhere is refused.
func TestManifestCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.read")
	m := &manifest{"/x", []source{{"/a b", 1, 2, "ff"}, {"/c", 3, 4, "0a"}}}
	if err := m.save(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range text {
		if err := os.WriteFile(path, text[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if got := loadManifest(path); got != nil {
			t.Errorf("%q became %+v", text[:n], got)
		}
	}
}

// Whatever is in the file, it is read or refused.
func FuzzLoadManifest(f *testing.F) {
	f.Add([]byte("/x\x001\x00/a b\x001\x002\x00ff\x00"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "m.read")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		m := loadManifest(path)
		if m == nil {
			return
		}
		if err := m.save(path); err != nil {
			t.Fatal(err)
		}
		again := loadManifest(path)
		if again == nil || again.Cwd != m.Cwd || !slices.Equal(again.Sources, m.Sources) {
			t.Errorf("%q", text)
		}
	})
}
