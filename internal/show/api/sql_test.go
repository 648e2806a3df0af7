package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/sql"
)

type sqlAnswer struct {
	Results []struct {
		Columns []string
		Rows    [][]any
		Left    bool
	}
	Mistake *struct {
		Line, Column int
		Text         string
	}
}

// TestSQL: queries find what the report says, are cut where they are told to be, say where a mistake is after
// what came before it, and cannot change anything.
func TestSQL(t *testing.T) {
	s, ids := serve(t, api.Config{}, heat(t))
	at := s.URL + "/api/runs/" + ids[0]
	ask := func(q, more string) sqlAnswer {
		t.Helper()
		return asked[sqlAnswer](t, at+"/sql?q="+url.QueryEscape(q)+more)
	}
	report := asked[struct {
		Factors map[string]struct{ NS float64 }
	}](t, at+"/report")
	for factor, want := range report.Factors {
		got := ask("select sum(ns) from pieces where factor = '"+factor+"'", "")
		ns, _ := got.Results[0].Rows[0][0].(float64)
		if got.Mistake != nil || len(got.Results) != 1 || ns != want.NS {
			t.Errorf("%s: %+v, want %v", factor, got, want)
		}
	}
	if got := ask("select 1 union select 2 union select 3", "&limit=2"); len(got.Results[0].Rows) != 2 ||
		!got.Results[0].Left {
		t.Errorf("a limit: %+v", got)
	}
	if got := ask("select 9007199254740993, 0.5, null, x'00ff', 'a'", ""); len(got.Results) != 1 ||
		got.Results[0].Rows[0][0] != "9007199254740993" || got.Results[0].Rows[0][1] != 0.5 ||
		got.Results[0].Rows[0][2] != nil || got.Results[0].Rows[0][4] != "a" {
		t.Errorf("values: %+v", got)
	}
	got := ask("select 1;\nselect no from runs", "")
	if len(got.Results) != 1 || got.Mistake == nil || got.Mistake.Line != 2 || got.Mistake.Column != 8 {
		t.Errorf("a mistake: %+v", got)
	}
	for _, harm := range []string{"attach 'x.db' as x", "delete from runs", "pragma journal_mode = wal",
		"select " + strings.Repeat("(", 3000), "select zeroblob(1000000000)"} {
		if got := ask(harm, ""); got.Mistake == nil {
			t.Errorf("%.40s: %+v", harm, got)
		}
	}
	for _, q := range sql.Queries {
		if got := ask(q.SQL, ""); got.Mistake != nil || q.Doc == "" || q.Ru == "" || q.Ru == q.Doc {
			t.Errorf("%s: %+v", q.Name, got.Mistake)
		}
	}
	status, body, _ := get(t, at+"/sql?q="+strings.Repeat("x", 70000))
	if status != http.StatusBadRequest || !json.Valid(body) {
		t.Errorf("a long query: %d %s", status, body)
	}
}
