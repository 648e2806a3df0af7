package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	text "text/template"

	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
)

// The HTML face is one file that asks nothing of anybody: style and script are inline and named by their
// hashes in the Content-Security-Policy, which forbids all else. There are no style attributes, which it
// would forbid too. Names from a trace pass three gates: html/template (or svg) escapes them, what cannot be
// printed is replaced in the whole page at the end, and whatever got through could run nothing.

//go:embed page.tmpl
var pageText string

//go:embed page.css
var pageStyleText string

// pageStyle is the style sheet, with the colours of the factors filled in.
func pageStyle() string {
	var b strings.Builder
	_ = text.Must(text.New("style").Parse(pageStyleText)).Execute(&b, words.Colours) // a Builder does not fail
	return b.String()
}

//go:embed page.js
var pageScript string

func pageTemplate(lang words.Lang) *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{"code": withCode, "meter": meter,
		"say": speaker{lang: lang}.say, "paper": func() faceSet { return paper }}).Parse(pageText))
}

// withCode sets what stands between backticks as code.
func withCode(s string) template.HTML {
	parts := strings.Split(s, "`")
	for i, p := range parts {
		parts[i] = template.HTMLEscapeString(p)
		if i%2 == 1 && i < len(parts)-1 {
			parts[i] = "<code>" + parts[i] + "</code>"
		} else if i%2 == 1 {
			parts[i] = "`" + parts[i] // one that is never closed
		}
	}
	return template.HTML(strings.Join(parts, ""))
}

// meter is a bar for a share of 0 to 1.
func meter(share float64) template.HTML {
	return template.HTML(svg.Strip(words.English.Percent(int64(1000*share), 1000), 10,
		[]svg.Part{{Class: "u", Value: share}, {Class: "none", Value: 1 - share}}))
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// HTML writes all there is to tell about a run, in the language of the advice, as one HTML file that needs
// nothing else: no network, no script to be read.
func HTML(w io.Writer, all *Everything, _ Options) error {
	a := newAuthor(all, "")
	var out bytes.Buffer
	style := pageStyle()
	err := pageTemplate(a.lang).Execute(&out, map[string]any{
		"Lang":     []string{"en", "ru"}[a.lang],
		"Title":    a.title(),
		"Sections": a.document(),
		"Style":    template.CSS(style),
		"Script":   template.JS(pageScript),
		"Policy": "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(pageScript) +
			"; img-src data:; base-uri 'none'; form-action 'none'",
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, svg.Printable(out.String()))
	return err
}
