package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/model/query"
)

// params reads the parameters of a question and remembers the first wrong one.
type params struct {
	q   url.Values
	err error
}

func newParams(r *http.Request) *params {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		err = query.Bad("the query cannot be read: %v", err)
	}
	return &params{q: q, err: err}
}

func (p *params) bad(name, value, want string) {
	if p.err == nil {
		if len(value) > 80 {
			value = value[:80] + "..."
		}
		p.err = query.Bad("%s=%q: %s", name, value, want)
	}
}

func (p *params) has(name string) bool { return p.q.Get(name) != "" }

// text is at most max bytes long.
func (p *params) text(name string, max int) string {
	v := p.q.Get(name)
	if len(v) > max || !utf8.ValidString(v) {
		p.bad(name, v, fmt.Sprintf("a text of at most %d bytes", max))
		return ""
	}
	return v
}

// words are separated by commas; nil: none are given.
func (p *params) words(name string) []string {
	v := p.text(name, 1000)
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

func (p *params) number(name string, least, most, preset int64) int64 {
	v := p.q.Get(name)
	if v == "" {
		return preset
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		p.bad(name, v, fmt.Sprintf("a whole number from %d to %d", least, most))
		return preset
	}
	return n
}

// span is from and to, in nanoseconds since the start of the run; by default all of it.
func (p *params) span(wall int64) (from, to int64) {
	from = p.number("from", -timeLimit, timeLimit, 0)
	to = p.number("to", -timeLimit, timeLimit, wall)
	if from > to {
		p.bad("from", p.q.Get("from"), "is after to")
		return 0, wall
	}
	return from, to
}

const timeLimit = 1 << 53

// moment is a time in nanoseconds since the start of the run, nil for none.
func (p *params) moment(name string) *int64 {
	if !p.has(name) {
		return nil
	}
	t := p.number(name, -timeLimit, timeLimit, 0)
	return &t
}

// choice is one of several words, the first by default.
func (p *params) choice(name string, words ...string) string {
	v := p.q.Get(name)
	if v == "" {
		return words[0]
	}
	if !slices.Contains(words, v) {
		p.bad(name, v, "use "+strings.Join(words, ", "))
		return words[0]
	}
	return v
}

// numbers are a list as in "0-3,7", none above most; nil means all.
func (p *params) numbers(name string, most int) []int {
	list, err := query.Numbers(p.q.Get(name), name, most+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.bad(name, p.q.Get(name), fmt.Sprintf("numbers go up to %d", most))
	case err != nil:
		p.bad(name, p.q.Get(name), "numbers as in 0-3,7")
	}
	return list
}

func (p *params) lang() string { return p.choice("lang", "en", "ru") }

// fail answers with an error: {"error": "..."}.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text}) // the client may be gone
}
