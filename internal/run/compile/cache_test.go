package compile

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestDamagedWithoutManifest makes a step again whose result is damaged and whose manifest is lost.
func TestDamagedWithoutManifest(t *testing.T) {
	dir := t.TempDir()
	step := Step{Name: "out", Key: "k", Make: func(_ context.Context, dir string) ([]string, string, error) {
		return nil, "", os.WriteFile(filepath.Join(dir, "out"), []byte("made"), 0o644)
	}}
	var path string
	for range 2 {
		c, err := Open(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Make(t.Context(), step)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(m.Path)
		if err != nil || string(text) != "made" || path != "" && m.Path != path {
			t.Fatalf("%q in %s, before in %s: %v", text, m.Path, path, err)
		}
		path = m.Path
		if err := os.WriteFile(path, []byte("mad"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(c.manifestPath(step)); err != nil {
			t.Fatal(err)
		}
	}
}
