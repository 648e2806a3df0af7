// Package npm installs what tests need of npm's packages.
package npm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Install returns a folder of node modules: those of package.json and package-lock.json in files, at the
// versions and with the check sums of the latter. It is made once, in the user's cache; name begins its name.
// Where npm is missing or can fetch nothing the test is skipped.
func Install(t *testing.T, files fs.FS, name string) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s needs node and npm: apt-get install nodejs npm", name)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	lock, err := fs.ReadFile(files, "package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	parent := filepath.Join(cache, "whyslow-tests")
	whole := filepath.Join(parent, name+"-"+hex.EncodeToString(sum[:6]))
	modules := filepath.Join(whole, "node_modules") // packages find each other in a folder of that name
	if _, err := os.Stat(modules); err == nil {
		return modules
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(parent, "new")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, f := range []string{"package.json", "package-lock.json"} {
		b, err := fs.ReadFile(files, f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("EINTEGRITY")) {
			t.Fatalf("npm ci: %s", out)
		}
		t.Skipf("npm cannot fetch what %s needs: %v\n%s", name, err, out)
	}
	// Another test may have been faster.
	if err := os.Rename(dir, whole); err != nil {
		if _, there := os.Stat(modules); there != nil {
			t.Fatal(err)
		}
	}
	return modules
}
