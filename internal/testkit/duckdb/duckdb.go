// Package duckdb asks DuckDB, with which people read Parquet and CSV files.
package duckdb

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

// Ask runs queries in a folder and returns the rows of each, by column. Integers of 64 bits and decimals are
// texts.
func Ask(t *testing.T, dir string, queries ...string) (answers [][]map[string]any) {
	t.Helper()
	modules := npm.Install(t, here, "duckdb")
	script := filepath.Join(t.TempDir(), "query.mjs")
	b, err := here.ReadFile("query.mjs")
	if err == nil {
		err = os.WriteFile(script, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(queries)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", script, modules)
	c.Dir, c.Stdin = dir, bytes.NewReader(text)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, &answers)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	return answers
}
