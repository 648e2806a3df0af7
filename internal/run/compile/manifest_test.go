package compile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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
	rapid.Check(t, func(t *rapid.T) {
		m := &manifest{Cwd: rapid.String().Draw(t, "cwd")}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			m.Sources = append(m.Sources, source{
				rapid.String().Draw(t, "path"), rapid.Int64().Draw(t, "size"), rapid.Int64().Draw(t, "mtime"),
				rapid.StringMatching(`[a-f0-9]*`).Draw(t, "hash")})
		}
		var got manifest
		if err := json.Unmarshal(marshal(t, m), &got); err != nil || got.Cwd != m.Cwd ||
			!slices.Equal(got.Sources, m.Sources) {
			t.Fatalf("%+v became %+v", m, got)
		}
	})
}

func marshal(t interface{ Fatal(...any) }, m *manifest) []byte {
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever is in the file, it is read or refused; what is cut off is refused.
func FuzzLoadManifest(f *testing.F) {
	text := marshal(f, &manifest{"/x", []source{{"/a b", 1, 2, "ff"}}})
	f.Add(text)
	f.Add(text[:len(text)-6])
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "m.json")
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
