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
	"unicode"

	"github.com/whyslow/whyslow/internal/words"
)

// said are the functions that look their texts up in the catalogue, and from which argument on they are
// texts.
var said = map[string]bool{"say": true, "para": true, "warn": true, "heading": true, "plot": true,
	"details": true, "table": true, "line": true, "part": true}

// TestCatalogue: whatever the sections say is there in Russian, with the same arguments.
func TestCatalogue(t *testing.T) {
	used := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	sources := &ast.BlockStmt{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "sentences.go" {
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
	phrases := map[ast.Expr]bool{} // with their translations beside them
	var literals []string          // all others
	ast.Inspect(sources, func(n ast.Node) bool {
		if pair, ok := n.(*ast.CompositeLit); ok && len(pair.Elts) == 2 {
			if russian, _ := folded(pair.Elts[1]); strings.ContainsFunc(russian, func(r rune) bool {
				return unicode.Is(unicode.Cyrillic, r)
			}) {
				phrases[pair.Elts[0]] = true
			}
		}
		if e, ok := n.(ast.Expr); ok && !phrases[e] {
			if text, ok := folded(e); ok {
				literals = append(literals, strings.Split(strings.TrimLeft(text, "#~+?"), "|")...)
				return false // the parts of a sum are no sentences
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !said[f.Sel.Name] {
			return true
		}
		for i, arg := range call.Args {
			text, ok := folded(arg)
			if !ok || i > 0 && f.Sel.Name != "table" && f.Sel.Name != "plot" {
				continue
			}
			for _, part := range strings.Split(strings.TrimLeft(text, "#~+?"), "|") {
				used[part] = f.Sel.Name
			}
		}
		return true
	})
	for _, list := range []map[string]words.Phrase{endings, endedWords, stepMeanings, quantityWords, doingWords,
		reasonWords, wholeWords} {
		for name, p := range list {
			if p[words.English] == "" || p[words.Russian] == "" {
				t.Errorf("%s: %q", name, p)
			}
		}
	}
	for _, c := range chapters {
		used[c.title] = "table"
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
	for _, p := range sentences {
		english := p[words.English]
		if !strings.Contains(pageText, `"`+english+`"`) && !slices.ContainsFunc(literals, func(s string) bool {
			return s == english || strings.HasSuffix(s, " ") && strings.HasPrefix(english, s) // Each + who
		}) {
			t.Errorf("nobody says %q", english)
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

// folded is a text, of one literal or several that are added.
func folded(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, ok := folded(e.X)
		y, also := folded(e.Y)
		return x + y, ok && also
	}
	return "", false
}
