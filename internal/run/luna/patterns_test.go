package luna

import (
	"slices"
	"strings"
	"testing"
)

// TestPatterns checks what is told of each statement, in the order of their numbers.
func TestPatterns(t *testing.T) {
	p := compile(t, dealing)
	var got []string
	for _, st := range p.Stmts {
		got = append(got, st.Text+": "+p.Patterns(st))
	}
	if text := strings.Join(got, "\n"); text != strings.TrimSpace(want) {
		t.Errorf("got\n%s", text)
	}
}

// TestPatternsOfPlaces: where rules for DFs of a name differ, each statement's own is told, but for names
// that one rule, or none, places.
func TestPatternsOfPlaces(t *testing.T) {
	p := compile(t, lib+"sub row(name a, int i) { f(a[i]); }\n"+
		"sub own(name a, int i) { f(a[i]); } @ { locator_cyclic a[p] => p; }\n"+
		"sub main() { df x, y, z; for i = 0 .. 9 { put(x[i], 1); put(y[i], 1); put(z[i], 1); f(y[i]); f(z[i]); }\n"+
		"row(x, 3); own(x, 4); } @ { locator_cyclic x[k] => k; locator_cyclic y[k] => k; }")
	var got []string
	for _, st := range p.Stmts {
		if d := p.Patterns(st); strings.Contains(d, ";") {
			got = append(got, st.Text+": "+d)
		}
	}
	want := []string{"f(a[i]): x[i] ->; sought x[i] = row: locator_cyclic a[k] => k",
		"f(a[i]): x[i] ->; sought x[i] = by t.fa:3:41",
		"put(x[i], 1): -> x[i]; stored x[i] = by t.fa:5:29"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

const dealing = `
import c_add(int, int, name) as add;
import c_put(name, int) as put;
import c_use(int) as use;
sub once(name a, int n, name res) { add(a[n], a[n - 1], res); }
sub often(name a) { put(a[0], 1); }
sub again(name v, int n) { put(v[n], n); if n { again(v, n - 1); } }
sub main()
{
	df x, y, r, n;
	for i = 0 .. 3 { df own; put(own[i], i); add(x[i], own[i], x[1 + i]); add(x[2 * i], own[0], y[i][7]); }
	once(y[5], 4, r[2]);
	often(x);
	often(y[1]);
	again(y, 3);
	if r[2] use(r[2]);
	while x[k] > 0, k = 0 .. out n put(x[k + 2], 1);
}`

const want = `
sub once(name a, int n, name res): -> r[2]
sub often(name a): -> x[0], y[1][0]
sub again(name v, int n): -> y[n], y[?]
sub main(): -> x[?], y[?][7], r[2], x[0], y[1][0], y[?], n
add(a[n], a[n - 1], res): y[5][n], y[5][n - 1] -> r[2]
put(a[0], 1): -> x[0], y[1][0]
put(v[n], n): -> y[n]
if n: -> y[?]
again(v, n - 1): -> y[?]
for i = 0 .. 3: -> x[?], y[?][7]
put(own[i], i): -> own[i]
add(x[i], own[i], x[1 + i]): x[i], own[i] -> x[i + 1]
add(x[2 * i], own[0], y[i][7]): x[?], own[0] -> y[i][7]
once(y[5], 4, r[2]): -> r[2]
often(x): -> x[0]
often(y[1]): -> y[1][0]
again(y, 3): -> y[?]
if r[2]: r[2] ->
use(r[2]): r[2] ->
while x[k] > 0, k = 0 .. out n: x[k] -> n, x[?]
put(x[k + 2], 1): -> x[k + 2]`
