package main

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"
)

// TestSite makes the site of this repository and follows every link and every picture in it.
func TestSite(t *testing.T) {
	dir := t.TempDir()
	if _, err := Make(os.DirFS("../../.."), dir); err != nil {
		t.Fatal(err)
	}
	type reference struct{ file, tag, to string }
	var references []reference
	ids := map[string]bool{} // FILE#ID, and FILE# for the file
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		ids[file+"#"] = true
		if filepath.Ext(file) != ".html" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		tree, err := html.Parse(bytes.NewReader(text))
		if err != nil {
			return err
		}
		for n := range tree.Descendants() {
			for _, a := range n.Attr {
				switch a.Key {
				case "id":
					ids[file+"#"+a.Val] = true
				case "href", "src":
					references = append(references, reference{file, n.Data, a.Val})
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	inside := 0
	for _, r := range references {
		to, err := url.Parse(r.to)
		if err != nil {
			t.Error(r, err)
			continue
		}
		if to.IsAbs() || to.Host != "" {
			if r.tag != "a" && to.Scheme != "data" {
				t.Error(r, "is loaded from another server")
			}
			continue
		}
		inside++
		file := r.file
		if to.Path != "" {
			file = filepath.Join(filepath.Dir(r.file), filepath.FromSlash(to.Path))
		}
		if !ids[file+"#"+to.Fragment] {
			t.Errorf("%s: <%s> to %s: nothing is there", r.file, r.tag, r.to)
		}
	}
	if inside < 500 {
		t.Errorf("only %d links lead from page to page", inside)
	}
	search, err := os.ReadFile(filepath.Join(dir, "search.js"))
	if err != nil || !bytes.Contains(search, []byte(`"url":"docs/tour.html"`)) {
		t.Errorf("the search does not know the tour (%v)", err)
	}
	front, err := os.ReadFile(filepath.Join(dir, "docs", "tour.html"))
	if err != nil || !bytes.Contains(front, []byte(`<a href="../docs/running.html">`)) {
		t.Errorf("no navigation in the tour (%v)", err)
	}
}

// Links that lead nowhere are named, all of them.
func TestDeadLinks(t *testing.T) {
	root := fstest.MapFS{
		"README.md": {Data: []byte("# A\n[b](docs/b.md#there) [c](docs/c.md) [d](docs/b.md#gone) " +
			"![e](docs/e.png)\n")},
		"docs/b.md": {Data: []byte("# B\n## There\n[up](../README.md) [self](#nowhere)\n")},
	}
	_, err := Make(root, t.TempDir())
	for _, want := range []string{"docs/c.md", "docs/b.md#gone", "docs/e.png", "#nowhere"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("not named: %s in %v", want, err)
		}
	}
	if err != nil && strings.Count(err.Error(), "\n") != 3 {
		t.Error("named are", err)
	}
}
