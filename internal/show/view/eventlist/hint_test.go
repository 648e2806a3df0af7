package eventlist

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/words"
)

// TestLettersDoNotMeet: where text and values meet, there are never letters on both sides. Hints rely on
// that.
func TestLettersDoNotMeet(t *testing.T) {
	field, meet := regexp.MustCompile(`\{[^}]*\}`), regexp.MustCompile(`\pL\{|[\]\[}]\{|[\[\]}]\pL`)
	for k, texts := range kindTexts {
		for _, s := range texts {
			if at := meet.FindString(field.ReplaceAllString(s, "{}")); at != "" {
				t.Errorf("%s: %q: %q", k, s, at)
			}
		}
	}
}

// TestHints searches for every word of every sentence of a trace, and for pairs of neighbours.
func TestHints(t *testing.T) {
	l := openText(t, sloutest.Golden(t, "words"))
	for _, lang := range []string{"en", "ru"} {
		all, err := l.Page(context.Background(), Query{Limit: 1000, Lang: lang})
		if err != nil {
			t.Fatal(err)
		}
		wanted, hinted := map[string]bool{}, 0
		for _, r := range all.Rows {
			list := strings.Split(r.Text, " ")
			for i, w := range list {
				wanted[w] = true
				if i > 0 {
					wanted[list[i-1]+" "+w] = true
				}
			}
		}
		for w := range wanted {
			if l.newHints(strings.ToLower(w), words.LangOf(lang)) != nil {
				hinted++
			}
			p, err := l.Page(context.Background(), Query{Limit: 1000, Lang: lang, Text: w})
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, r := range all.Rows {
				if strings.Contains(strings.ToLower(r.Text), strings.ToLower(w)) {
					want++
				}
			}
			if p.Total != want {
				t.Errorf("%q: %d events found, want %d", w, p.Total, want)
			}
		}
		if hinted < len(wanted)/2 {
			t.Errorf("%s: only %d of %d texts have hints", lang, hinted, len(wanted))
		}
	}
}
