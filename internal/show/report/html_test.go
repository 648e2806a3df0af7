package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/html"

	"github.com/whyslow/whyslow/internal/words"
)

// page parses a page and gives its body.
func parsePage(t testing.TB, page string) (doc, body *html.Node) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Data == "body" && n.Type == html.ElementNode {
			return doc, n
		}
	}
	t.Fatal("the page has no body")
	return nil, nil
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// outlineHTML writes what a reader of a page meets: headings, text, rows of tables, and for each plot its
// text alternative and how many elements of each class it is drawn of.
func outlineHTML(t testing.TB, page string) string {
	_, body := parsePage(t, page)
	var out strings.Builder
	var walk func(n *html.Node)
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			switch n.Data {
			case "script", "header":
				return
			case "svg":
				if label := attribute(n, "aria-label"); label != "" {
					line("[plot: %s | %s]", strings.ReplaceAll(label, "\n", " / "), classes(n))
				}
				return
			case "section":
				line("\n== %s", attribute(n, "id"))
			case "tr":
				var cells []string
				for c := range n.ChildNodes() {
					if c.Data == "td" || c.Data == "th" {
						cells = append(cells, strings.TrimSpace(textOf(c)))
					}
				}
				line("| %s", strings.Join(cells, " | "))
				return
			case "h1", "h2", "h3", "p", "li", "caption", "figcaption", "summary", "dt", "dd":
				line("%s: %s", n.Data, strings.TrimSpace(textOf(n)))
				return
			}
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(body)
	return strings.TrimLeft(out.String(), "\n")
}

func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var s strings.Builder
	for c := range n.ChildNodes() {
		if c.Data == "svg" {
			continue
		}
		s.WriteString(textOf(c))
	}
	return s.String()
}

// classes counts the marks of a plot by element and class; tooltips, ticks and labels are left out.
func classes(n *html.Node) string {
	count := map[string]int{}
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && (c.Data == "rect" || c.Data == "path") && attribute(c, "class") != "none" {
			count[c.Data+" "+attribute(c, "class")]++
		}
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(count)) {
		list = append(list, fmt.Sprintf("%d %s", count[k], k))
	}
	return strings.Join(list, ", ")
}

// checkPage checks what must hold for every page, whatever names a trace has.
func checkPage(t testing.TB, page string) {
	t.Helper()
	if !utf8.ValidString(page) {
		t.Error("the page is no UTF-8")
	}
	for i, r := range page {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("the page has %U at %d: %q", r, i, page[max(0, i-40):min(len(page), i+40)])
		}
	}
	doc, _ := parsePage(t, page)
	scripts, ids := 0, map[string]bool{}
	policy := false
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script", "style":
			scripts++
			if text := strings.TrimSpace(textOf(n)); text != strings.TrimSpace(pageScript) &&
				text != strings.TrimSpace(pageStyle()) {
				t.Errorf("a %s that is not ours: %.80q", n.Data, text)
			}
		case "meta":
			policy = policy || attribute(n, "http-equiv") == "Content-Security-Policy"
		case "iframe", "object", "embed", "img", "base", "form", "foreignobject", "foreignObject", "use", "image":
			t.Errorf("the page has an element <%s>", n.Data)
		}
		for _, a := range n.Attr {
			key := strings.ToLower(a.Key)
			switch {
			case strings.HasPrefix(key, "on"), key == "style", key == "src", key == "srcset", key == "action":
				t.Errorf("<%s> has the attribute %s=%q", n.Data, a.Key, a.Val)
			case key == "href" && !strings.HasPrefix(a.Val, "#") && a.Val != "data:,":
				t.Errorf("<%s> points to %q", n.Data, a.Val)
			case key == "id" && ids[a.Val]:
				t.Errorf("two elements have the id %q", a.Val)
			case key == "id":
				ids[a.Val] = true
			}
		}
	}
	if scripts != 2 || !policy {
		t.Errorf("%d scripts and styles, content policy %v", scripts, policy)
	}
	for n := range doc.Descendants() {
		if href := attribute(n, "href"); strings.HasPrefix(href, "#") && !ids[href[1:]] {
			t.Errorf("a link to %s, which is not there", href)
		}
	}
	// Whoever parses it gets the tree that was written: tags balance.
	if open, closed := strings.Count(page, "<svg"), strings.Count(page, "</svg>"); open != closed {
		t.Errorf("%d svg elements, %d are closed", open, closed)
	}
}

func pageOf(t testing.TB, all *Everything) string {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, all, Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPages checks the pages of all goldens.
func TestPages(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkPage(t, pageOf(t, compute(t, string(ar.Files[0].Data), "node", "worker", "code", "index:0")))
	}
	checkPage(t, pageOf(t, &Everything{Failed: []Failure{{Analysis: analysisSLOU, Why: "<b>why</b>"}}}))
}

// TestSameSections: the terminal and the page have the same headings, tables and advice, in the same order.
func TestSameSections(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/two_nodes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	all := compute(t, string(ar.Files[0].Data), "node", "worker", "code", "index:0")
	for _, lang := range []string{"en", "ru"} {
		all := all.In(lang)
		text := render(t, all, "terminal full width=200")
		at := 0
		_, body := parsePage(t, pageOf(t, all))
		for n := range body.Descendants() {
			is := n.Data
			inPlot := n.Parent != nil && n.Parent.Data == "figure"
			if n.Type != html.ElementNode || is != "h2" && is != "h3" && is != "caption" || inPlot ||
				attribute(n, "id") == "summary-title" {
				continue
			}
			heading := "\n" + strings.TrimSpace(textOf(n)) + "\n"
			i := strings.Index(text[at:], heading)
			if i < 0 {
				t.Errorf("%s: the page goes on with %q, the terminal does not:\n%s", lang, heading, text[at:])
				return
			}
			at += i + len(heading) - 1
		}
		for i, x := range all.Advice {
			want := strings.Fields(fmt.Sprintf("%d. %s %s", i+1, x.Title, x.Text))
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(want, " ")) {
				t.Errorf("%s: the terminal does not advise %q", lang, want)
			}
		}
	}
}

var classAttribute = regexp.MustCompile(`class="([^"]*)"`)

// TestStyled checks that every class in a page has a rule: a class without one is a plot without colour.
func TestStyled(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/two_nodes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range classAttribute.FindAllStringSubmatch(pageOf(t,
		compute(t, string(ar.Files[0].Data), "node")), -1) {
		for _, class := range strings.Fields(m[1]) {
			if !strings.Contains(pageStyle(), "."+class) && class != "sortable" {
				t.Errorf("class %s has no style", class)
			}
		}
	}
}

// hostile puts a name into every place of a trace that holds one.
func hostile(t testing.TB, name string) string {
	quoted, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	n := string(quoted)
	q := fmt.Sprintf("%+q", name)
	return `#run {"program":` + n + `,"args":[` + n + `],"message":` + n + `,"ended":"stuck","versions":{` + n + `:` + n + `},"processes":[{"pid":1,"host":` + n + `,"cores":1}],"nodes":[{"node":0,"host":` + n + `,"process":0,"workers":1},{"node":1,"host":` + n + `,"process":0,"workers":1}]}
#node 0
#code 1 ` + q + ` atomic at=` + q + `:7:3
#site 1 code=1 label=` + q + `
#df 1 ` + q + ` [0 1]
#df 2 ` + q + ` [0 2]
0us Global.onProgramStarted
15us s1 CF.onCreated cf=0.1 site=1 indices=[3]
22us s1 DF.onRequested df=1 cf=0.1 node=1 request=0.1
40us s1 DF.onReceived df=1 from=1 bytes=800 message=1.1 request=0.1
42us s1 CF.onReady 0.1
43us CF.onStarted 0.1 inputs=[1]
53us CF.onFinished 0.1 cpu=7000
54us CF.onCreated cf=0.2 site=1 indices=[4]
55us CF.onWaiting 0.2 awaited=[2]
60us Global.onProgramFinished
#node 1
#code 1 ` + q + ` atomic at=` + q + `:5:3
#site 1 code=1
#df 1 ` + q + ` [0 1]
0us Global.onProgramStarted
0us CF.onCreated cf=1.1 site=1
0us CF.onReady 1.1
0us CF.onStarted 1.1
10us DF.onCreate 1 800 1.1
10us DF.onStored 1 800
10us CF.onFinished 1.1
30us s1 DF.onRequestReceived df=1 from=0 request=0.1
33us s1 DF.onSent df=1 to=0 bytes=800 message=1.1 request=0.1
60us Global.onProgramFinished
`
}

var hostileNames = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`,
	"</style></script></svg><script>alert(1)</script>", "\x1b[31mred\x1b[0m\x07", "a\u202eb\u2066c",
	"a\x00b\r\nc", "`<b>`", "'\"&<>", "{{.}}", "]]>--><!--", "javascript:alert(1)", strings.Repeat("long ", 500),
}

func TestHostilePage(t *testing.T) {
	for _, name := range hostileNames {
		checkPage(t, pageOf(t, compute(t, hostile(t, name), "node", "worker", "code", "index:0")))
	}
}

// FuzzHTML: no name gets out of the page's text, nor steers a terminal.
func FuzzHTML(f *testing.F) {
	for _, name := range hostileNames {
		f.Add(name)
	}
	f.Add("\xff\xfe<\x80script>")
	all := compute(f, hostile(f, "NAME"), "node", "worker", "code", "index:0")
	text, err := json.Marshal(all.SLOU)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		// The analyses are done once; the name is put into what they gave.
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		some := *all
		some.SLOU = nil
		if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("NAME"), quoted[1:len(quoted)-1]),
			&some.SLOU); err != nil {
			t.Skip(err)
		}
		run := *all.Run
		info := *run.Info
		info.Program, info.Message, info.Args = name, name, []string{name}
		run.Info, run.Problems, some.Run = &info, []string{name}, &run
		some.Failed = []Failure{{Analysis: name, Why: name}}
		checkPage(t, pageOf(t, &some))
		if text := render(t, &some, "terminal full"); strings.ContainsAny(text, "^\x07\r") &&
			!strings.Contains(name, "^") {
			t.Errorf("the terminal gets %q", text)
		}
	})
}

// TestShape checks that the names and types in the JSON stay what they are: programs rely on them. New ones
// are fine.
func TestShape(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	shape := map[string]bool{}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := JSON(&out, compute(t, string(ar.Files[0].Data), "node", "index:0"), Options{}); err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		addShape(shape, "", doc)
	}
	got := strings.Join(slices.Sorted(maps.Keys(shape)), "\n") + "\n"
	const golden = "testdata/json_shape.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(want)) {
		if !shape[strings.TrimSuffix(line, "\n")] {
			t.Errorf("the JSON no longer has %s", line)
		}
	}
}

// open maps have names of the program in them, not ours.
var openMaps = regexp.MustCompile(`\.(parts|evidence|versions|settings)$`)

func addShape(shape map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if openMaps.MatchString(path) {
			shape[path+" map"] = true
			return
		}
		for k, x := range v {
			addShape(shape, path+"."+k, x)
		}
	case []any:
		shape[path+" list"] = true
		for _, x := range v {
			addShape(shape, path+"[]", x)
		}
	case nil:
		shape[path+" null"] = true
	default:
		shape[fmt.Sprintf("%s %T", path, v)] = true
	}
}

// TestIndent: the JSON is what encoding/json would write, but for white space in lists of numbers.
func TestIndent(t *testing.T) {
	for from, want := range map[string]string{
		`{}`: `{}`, `[]`: `[]`,
		`{"a":[1,-2.5e3,null],"b":["x"],"c":{}}`: "{\n  \"a\": [1, -2500, null],\n  \"b\": [\n    \"x\"\n  ],\n" +
			"  \"c\": {}\n}",
		`["[ 1,  2 ]\n[\n 3]"]`:   "[\n  \"[ 1,  2 ]\\n[\\n 3]\"\n]",
		`{"q":"\\\\","r":"\"[1"}`: "{\n  \"q\": \"\\\\\\\\\",\n  \"r\": \"\\\"[1\"\n}",
		`[[1],[2,3],[{}]]`:        "[\n  [1],\n  [2, 3],\n  [\n    {}\n  ]\n]",
	} {
		var v any
		if err := json.Unmarshal([]byte(from), &v); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		var got bytes.Buffer
		out := bufio.NewWriter(&got)
		indent(out, text)
		if err := errors.Join(err, out.Flush()); err != nil || got.String() != want {
			t.Errorf("%s became\n%s\nwant\n%s", from, got.String(), want)
		}
	}
}

// TestFactorColours: the colours of factors stand in their table alone.
func TestFactorColours(t *testing.T) {
	for _, f := range words.AllFactors {
		rule := "--" + f.Class + ": light-dark(" + f.Light + ", " + f.Dark + ")"
		if !strings.Contains(pageStyle(), rule) || strings.Contains(pageStyleText, rule) {
			t.Errorf("%s is not filled in from the table", rule)
		}
	}
}
