package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/web"
)

// TestBuilt: the built files that are committed are of the sources beside them. It needs no node.js.
func TestBuilt(t *testing.T) {
	var files []string
	for _, f := range []string{"index.html", "package.json", "package-lock.json", "svelte.config.js",
		"tsconfig.json", "vite.config.ts", "public", "src"} {
		err := filepath.WalkDir(f, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".test.ts") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	sum := sha256.New()
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write([]byte(f + "\x00"))
		sum.Write(data)
		sum.Write([]byte{0})
	}
	want, err := fs.ReadFile(web.Files(), "sources.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)) + "\n"; got != string(want) {
		t.Error("dist was built of other sources: run make page")
	}
}

// newEnough tells whether node.js and npm can build the page; if not, why.
func newEnough() string {
	for _, tool := range []struct {
		name         string
		major, minor int
	}{{"node", 20, 19}, {"npm", 11, 0}} {
		out, err := exec.Command(tool.name, "--version").Output()
		if err != nil {
			return "there is no " + tool.name
		}
		var major, minor int
		if _, err := fmt.Sscanf(strings.TrimPrefix(string(out), "v"), "%d.%d", &major, &minor); err != nil ||
			major < tool.major || major == tool.major && minor < tool.minor {
			return fmt.Sprintf("%s is %s, the page is built with %d.%d or later", tool.name,
				strings.TrimSpace(string(out)), tool.major, tool.minor)
		}
	}
	return ""
}

// TestPage checks the sources of the page, runs their tests, and compares the committed files with what
// the sources make. It needs node.js and npm, and is skipped without them; TestBuilt is not. Sources
// that have passed before are not tried again.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the page")
	}
	if why := newEnough(); why != "" {
		t.Skip(why)
	}
	passed := passedFile(t, sources(t))
	if _, err := os.Stat(passed); err == nil && !effort.Long {
		return
	}
	if !installed() {
		if out, err := npm("ci", "--no-audit", "--no-fund", "--prefer-offline"); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}
	for _, script := range []string{"check", "test"} {
		t.Run(script, func(t *testing.T) {
			if out, err := npm("run", script); err != nil {
				t.Fatalf("npm run %s: %v\n%s", script, err, out)
			}
		})
	}
	t.Run("dist", func(t *testing.T) {
		dir := t.TempDir()
		if out, err := npm("run", "build", "--", "--outDir", dir, "--emptyOutDir"); err != nil {
			t.Fatalf("npm run build: %v\n%s", err, out)
		}
		committed, built := contents(t, web.Files()), contents(t, os.DirFS(dir))
		for name, data := range built {
			if !bytes.Equal(committed[name], data) {
				t.Errorf("dist/%s is not what the sources make: run make page", name)
			}
			delete(committed, name)
		}
		for name := range committed {
			t.Errorf("dist/%s is not made by the sources: run make page", name)
		}
	})
	if !t.Failed() {
		if err := os.WriteFile(passed, nil, 0o644); err != nil {
			t.Log(err) // they are tried again
		}
	}
}

// passedFile is a file in the user's cache that exists if the sources with that hash have passed.
func passedFile(t *testing.T, hash string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "whyslow-tests")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "page-"+hash)
}

// installed tells whether node_modules is what package-lock.json asks for, as far as times tell.
func installed() bool {
	have, err1 := os.Stat("node_modules/.package-lock.json")
	want, err2 := os.Stat("package-lock.json")
	return err1 == nil && err2 == nil && !have.ModTime().Before(want.ModTime())
}

func npm(args ...string) ([]byte, error) {
	cmd := exec.Command("npm", args...)
	cmd.Env = append(os.Environ(), "CI=1", "NO_COLOR=1", "NO_UPDATE_NOTIFIER=1")
	return cmd.CombinedOutput()
}

// sources hashes everything the page is made of, with dist. So go test, too, knows that the result
// depends on it.
func sources(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func contents(t *testing.T, files fs.FS) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[path], err = fs.ReadFile(files, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNothingFromElsewhere: the page asks nobody but the server it came from.
func TestNothingFromElsewhere(t *testing.T) {
	for name, data := range contents(t, web.Files()) {
		if name == "licenses.md" { // of what is bundled; the page does not load it
			continue
		}
		text := string(data)
		for _, part := range strings.Split(text, "://")[1:] {
			host, _, _ := strings.Cut(part, "/")
			if end := strings.IndexAny(host, "\"'` )\\"); end >= 0 {
				host = host[:end]
			}
			switch host {
			case "www.w3.org": // names of XML vocabularies
			case "svelte.dev": // in messages for developers
			default:
				t.Errorf("dist/%s names %.60q", name, host)
			}
		}
	}
}
