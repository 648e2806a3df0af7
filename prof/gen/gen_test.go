package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// What is generated must be in the repository as it would be generated now.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	for path, make := range files {
		want, err := make()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not current: run go generate ./prof", path)
		}
	}
}

func TestDocNamesEverything(t *testing.T) {
	counts := map[string]int{}
	group := ""
	for _, s := range sources {
		if s.group != "" {
			group = s.group
		}
		counts[group]++
		name := strings.FieldsFunc(s.ours, func(r rune) bool { return r == ',' || r == ' ' })[0]
		ns, event, _ := strings.Cut(name, ".")
		if _, ok := trace.KindByName(ns, event); !ok {
			t.Errorf("%s is no event", name)
		}
	}
	if counts["CFs (10)"] != 10 || counts["DFs (7)"] != 7 || counts["system (5)"] != 5 {
		t.Errorf("%v", counts)
	}
	known := map[string]bool{}
	for _, ns := range namespaces {
		known[ns.name] = true
	}
	for _, k := range trace.Kinds() {
		if !known[k.Namespace] {
			t.Errorf("namespace %s is not in the page", k.Namespace)
		}
		if k.Doc == "" {
			t.Errorf("%s has no description", &k)
		}
		for _, f := range k.Fields {
			if f.Doc == "" || typeDocs[f.Type] == "" {
				t.Errorf("field %s of %s has no description", f.Name, &k)
			}
		}
	}
}
