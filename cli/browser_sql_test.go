package cli

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageSQL asks in SQL: a query that comes with whyslow, one of its own, one with a mistake.
func pageSQL(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat)
	b := p.open(t, s.url+"?view=sql&lang=en&theme=light")
	b.settle()
	cells := func() string { return query[string](b, `document.querySelector("[role=table]").innerText`) }
	// Time of the run beside that of its nodes has a row only if there was any.
	if got := cells(); !strings.HasPrefix(got, "node\nU\nS\nL\nO\nW\nms\n") || !strings.Contains(got, "\n3\n") {
		t.Errorf("at first: %q", got)
	}
	b.picture("sql")
	ask := func(sql string) {
		t.Helper()
		query[bool](b, `(t => { t.value = %q; return t.dispatchEvent(new Event("input", { bubbles: true })) })(document.querySelector("textarea"))`,
			sql)
		b.click("button.go", "Run")
		b.wait(`decodeURIComponent(location.search.replaceAll("+", " ")).includes(%q)`, sql)
		b.settle()
	}
	// A moment sets the cursor, a CF opens.
	ask("select f.id, e.start_ns, e.duration_ns from executions e join cfs f using (cf) where f.atomic order by 2 limit 5")
	want := strings.Fields(p.whyslow(t, "sql", "--csv", p.heat,
		"select f.id, e.start_ns from executions e join cfs f using (cf) where f.atomic order by 2 limit 1"))[1]
	id, start, _ := strings.Cut(want, ",")
	if got := cells(); !strings.Contains(got, id) {
		t.Errorf("no %s in %q", id, got)
	}
	b.click("[role=table] a", id)
	b.wait(`location.search.includes(%q)`, "pick=cf:"+id)
	query[bool](b, `(document.querySelectorAll("[role=table] a")[1].click(), true)`)
	b.wait(`location.search.includes(%q)`, "t="+start)
	// A plot of it, and a choice of what is across.
	b.click(".segments button", "Plot")
	b.wait(`document.querySelector(".chart canvas")`)
	b.picture("sql-plot")
	if odd := query[string](b, oddWords); odd != "" {
		t.Errorf("it shows %q", odd)
	}
	// Two results, then a mistake, which leads to its place.
	ask("select 1 as one; select count(*) as n from workers; select nothing from runs")
	b.wait(`document.querySelectorAll("section.panel .chart").length === 2`)
	b.wait(`document.querySelector("[role=alert]").innerText.includes("Line 1, character 60")`)
	b.click("[role=alert] button", "Line 1, character 60")
	b.wait(`document.querySelector("textarea").selectionStart === 59`)
	// Saved, it is there after a reload.
	b.do(chromedp.SendKeys(`input[maxlength="80"]`, "mine"))
	b.click("section button", "Save")
	b.do(chromedp.Navigate(s.url + "?view=sql&lang=ru&f.sql.q=" + url.QueryEscape("select * from nodes")))
	b.settle()
	b.wait(`document.querySelector("optgroup option").innerText === "mine"`)
	if got := query[string](b, sticksOut); got != "" {
		t.Errorf("too wide: %s", got)
	}
	b.quiet("sql")
}
