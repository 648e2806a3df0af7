// Command site makes a static site from README.md and docs/: pages with navigation, and search in the
// browser. No page asks another server for anything. It fails where a link leads nowhere.
//
//	go run ./internal/testkit/site ROOT FOLDER
//
// ROOT is the checkout, FOLDER is made. Navigation is the part "Documents" of README.md.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	renderer "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// sources is where links to files that are no pages lead.
const sources = "https://github.com/whyslow/whyslow/blob/main/"

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

//go:embed search.js
var search []byte

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site ROOT FOLDER")
		os.Exit(2)
	}
	pages, err := Make(os.DirFS(os.Args[1]), os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages: %s\n", pages, filepath.Join(os.Args[2], "index.html"))
}

// page is a document. Names are paths in the repository, with slashes.
type page struct {
	name, title string
	source      []byte
	tree        ast.Node
	anchors     map[string]bool
}

// group is a line of the navigation: what README.md says before the colon, and the links after it.
type group struct {
	Title string
	Links []link
}

type link struct{ Title, URL string }

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithUnsafe())) // the documents are ours; tables have <br>

var tag = regexp.MustCompile(`<[^>]*>`)

// Make writes the site of a checkout to a folder and gives the number of pages. Its error names every link
// that leads nowhere.
func Make(root fs.FS, folder string) (int, error) {
	pages, err := read(root)
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, p := range pages {
		problems = append(problems, p.relink(root, pages)...)
	}
	if len(problems) > 0 {
		return 0, errors.Join(problems...)
	}
	if err := writePages(pages, folder); err != nil {
		return 0, err
	}
	images, err := fs.Glob(root, "docs/*.*")
	if err != nil {
		return 0, err
	}
	for _, name := range images {
		if path.Ext(name) == ".md" {
			continue
		}
		data, err := fs.ReadFile(root, name)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), data, 0o644)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(pages), nil
}

// read parses all documents: those in the root, and those in docs.
func read(root fs.FS) (map[string]*page, error) {
	pages := map[string]*page{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			source, err := fs.ReadFile(root, name)
			if err != nil {
				return nil, err
			}
			p := &page{name: name, title: name, source: source, anchors: map[string]bool{}}
			p.tree = markdown.Parser().Parse(text.NewReader(source),
				parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
			for _, h := range find[*ast.Heading](p.tree) {
				if h.Level == 1 && p.title == name {
					p.title = plain(h, source)
				}
				if id, ok := h.AttributeString("id"); ok {
					p.anchors[string(id.([]byte))] = true
				}
			}
			pages[name] = p
		}
	}
	if pages["README.md"] == nil {
		return nil, errors.New("there is no README.md")
	}
	return pages, nil
}

// relink has links lead to pages of the site or, for other files, to the sources, and gives those that lead
// nowhere.
func (p *page) relink(root fs.FS, pages map[string]*page) (problems []error) {
	for _, l := range find[*ast.Link](p.tree) {
		to, err := url.Parse(string(l.Destination))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.name, err))
			continue
		}
		if to.IsAbs() {
			continue
		}
		name := p.name
		if to.Path != "" {
			name = path.Join(path.Dir(p.name), to.Path)
		}
		if other := pages[name]; other != nil {
			if to.Fragment != "" && !other.anchors[to.Fragment] {
				problems = append(problems, fmt.Errorf("%s: link to %s: no such heading", p.name, l.Destination))
			}
			to.Path = other.from(p)
			l.Destination = []byte(to.String())
		} else if _, err := fs.Stat(root, name); err != nil {
			problems = append(problems, fmt.Errorf("%s: link to %s: %w", p.name, l.Destination, err))
		} else if path.Dir(name) != "docs" {
			l.Destination = []byte(sources + name)
		}
	}
	for _, image := range find[*ast.Image](p.tree) {
		name := path.Join(path.Dir(p.name), string(image.Destination))
		if _, err := fs.Stat(root, name); err != nil || path.Dir(name) != "docs" {
			problems = append(problems, fmt.Errorf("%s: the picture %s is not in docs", p.name, image.Destination))
		}
	}
	return problems
}

// file is where the page is in the site.
func (p *page) file() string {
	if p.name == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(p.name, ".md") + ".html"
}

// from is the link to the page from another one.
func (p *page) from(other *page) string { return other.top() + p.file() }

// top is the way from the page to the top of the site.
func (p *page) top() string { return strings.Repeat("../", strings.Count(p.name, "/")) }

// anchors are the names of headings as GitHub makes them, so that a link works there and here. It has those
// of one page.
type anchors map[string]bool

// Generate implements parser.IDs.
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(heading)))
	once := name
	for i := 1; a[name]; i++ {
		name = fmt.Sprintf("%s-%d", once, i)
	}
	a[name] = true
	return []byte(name)
}

// Put implements parser.IDs.
func (a anchors) Put(name []byte) { a[string(name)] = true }

// entry is what search finds: a part of a page from one heading to the next.
type entry struct {
	Title string `json:"title"`
	URL   string `json:"url"`
	Text  string `json:"text"`
	page  string
}

// sections gives the parts of a page in their order.
func (p *page) sections() (parts []entry, err error) {
	parts = []entry{{Title: p.title, URL: p.file(), page: p.name}}
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level > 1 {
			e := entry{Title: p.title + ": " + plain(h, p.source), URL: p.file(), page: p.name}
			if id, ok := h.AttributeString("id"); ok {
				e.URL += "#" + string(id.([]byte))
			}
			parts = append(parts, e)
		}
		var body bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.source, n); err != nil {
			return nil, err
		}
		parts[len(parts)-1].Text += html.UnescapeString(tag.ReplaceAllString(body.String(), " "))
	}
	return parts, nil
}

func writePages(pages map[string]*page, folder string) error {
	navigation := groups(pages["README.md"])
	layout, err := template.New("page").Parse(layout)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "docs"), 0o777); err != nil {
		return err
	}
	var index []entry
	for _, p := range pages {
		var body, whole bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
			return err
		}
		if err := layout.Execute(&whole, map[string]any{"Title": p.title, "Top": p.top(), "Groups": navigation,
			"Body": template.HTML(body.String()), "File": p.file()}); err != nil {
			return err
		}
		file := filepath.Join(folder, filepath.FromSlash(p.file()))
		if err := os.WriteFile(file, whole.Bytes(), 0o644); err != nil {
			return err
		}
		sections, err := p.sections()
		if err != nil {
			return err
		}
		index = append(index, sections...)
	}
	slices.SortStableFunc(index, func(a, b entry) int { return strings.Compare(a.page, b.page) })
	list, err := json.Marshal(index)
	if err != nil {
		return err
	}
	// A script and no JSON, so that search works in pages opened as files.
	script := append(append([]byte("const documents = "), list...), ";\n"...)
	if err := os.WriteFile(filepath.Join(folder, "search.js"), append(script, search...), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "style.css"), style, 0o644)
}

// groups is the navigation: the list after the heading "Documents", links already those of the site.
func groups(readme *page) (out []group) {
	for _, h := range find[*ast.Heading](readme.tree) {
		if plain(h, readme.source) != "Documents" || h.NextSibling() == nil {
			continue
		}
		for item := h.NextSibling().FirstChild(); item != nil; item = item.NextSibling() {
			title, _, _ := strings.Cut(plain(item, readme.source), ":")
			g := group{Title: title}
			for _, l := range find[*ast.Link](item) {
				g.Links = append(g.Links, link{plain(l, readme.source), string(l.Destination)})
			}
			out = append(out, g)
		}
	}
	return out
}

// find gives all nodes of a type below a node.
func find[N ast.Node](below ast.Node) (found []N) {
	// The walker returns no error, so Walk has none.
	_ = ast.Walk(below, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if wanted, ok := n.(N); ok && entering {
			found = append(found, wanted)
		}
		return ast.WalkContinue, nil
	})
	return found
}

// plain is the text of a node without marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for _, t := range find[*ast.Text](n) {
		b.Write(t.Segment.Value(source))
		if t.SoftLineBreak() {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
