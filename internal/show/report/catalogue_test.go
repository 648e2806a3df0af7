package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/words"
)

// said are the functions that look their texts up in the catalogue, and from which argument on they are
// texts.
var said = map[string]bool{"say": true, "para": true, "warning": true, "heading": true, "plot": true,
	"details": true, "grid": true}

// TestCatalogue: whatever the sections say is there in Russian, with the same arguments.
func TestCatalogue(t *testing.T) {
	used := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	sources := &ast.BlockStmt{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				sources.List = append(sources.List, d.Body)
			case *ast.GenDecl:
				sources.List = append(sources.List, &ast.DeclStmt{Decl: d})
			}
		}
	}
	ast.Inspect(sources, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !said[f.Sel.Name] {
			return true
		}
		for i, arg := range call.Args {
			text, ok := arg.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING || i > 0 && f.Sel.Name != "grid" && f.Sel.Name != "plot" {
				continue
			}
			s, err := strconv.Unquote(text.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range strings.Split(strings.TrimLeft(s, "#~"), "|") {
				used[part] = f.Sel.Name
			}
		}
		return true
	})
	for _, list := range []map[string]string{endings, stepMeanings, quantityWords, doingWords, reasonWords,
		partWords} {
		for _, s := range list {
			used[s] = "table"
		}
	}
	for _, f := range factorNames {
		used[f.name] = "table"
	}
	if len(used) < 300 {
		t.Errorf("only %d texts were found", len(used))
	}
	letters := regexp.MustCompile(`[a-z]{2}`)
	for s, by := range used {
		if letters.MatchString(s) && catalogue[s][words.Russian] == "" {
			t.Errorf("%s says %q, which is not in the catalogue", by, s)
		}
	}
	verbs := regexp.MustCompile(`%(\[\d\])?[.\d]*[a-z%]`)
	for _, p := range sentences {
		en, ru := verbs.FindAllString(p[words.English], -1), verbs.FindAllString(p[words.Russian], -1)
		if len(en) != len(ru) || !strings.Contains(p[words.English]+p[words.Russian], "%[") &&
			!slices.Equal(en, ru) {
			t.Errorf("%q and %q take different arguments", p[words.English], p[words.Russian])
		}
	}
}
