package main

import (
	"os"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// What is generated must be in the repository as it would be generated now.
func TestHeadersAreCurrent(t *testing.T) {
	for file, make := range map[string]func() ([]byte, error){
		"../whyslow.h":   func() ([]byte, error) { return header("../src") },
		"../whyslow.hpp": func() ([]byte, error) { return headerCPP("../src/cpp") },
	} {
		want, err := make()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not current: run go generate ./sdk", file)
		}
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range trace.Kinds() {
		n := name(&k)
		if seen[n] {
			t.Errorf("%s: another event is called ws_%s, too", &k, n)
		}
		seen[n] = true
		if len(k.Alias) > 1 {
			t.Errorf("%s: the header knows one other name only", &k)
		}
		for _, f := range k.Fields {
			if types[f.Type] == "" {
				t.Errorf("%s: no C type for field %s", &k, f.Name)
			}
		}
	}
}
