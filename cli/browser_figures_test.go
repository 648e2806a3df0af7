package cli

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/words"
)

// save clicks a button that saves something, and gives the name of the file and what is in it.
func (b *tab) save(selector string, text ...string) (name string, data []byte) {
	b.Helper()
	b.click(selector, text...)
	file := ""
	b.until(selector+" saves", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for id := range b.saved {
			if _, err := os.Stat(filepath.Join(b.downloads, id)); err != nil {
				continue // another window's
			}
			delete(b.saved, id)
			file, name = id, b.saving[id]
			return true
		}
		return false
	})
	data, err := os.ReadFile(filepath.Join(b.downloads, file))
	if err != nil {
		b.Fatal(err)
	}
	return name, data
}

// table gives a table as it is saved: its columns by the names in the head.
func (b *tab) table(name string) map[string][]string {
	b.Helper()
	_, data := b.save(fmt.Sprintf(`main .table:has([role=table][aria-label=%q]) [role=group] button`, name))
	return columns(b.T, data)
}

func columns(t *testing.T, data []byte) map[string][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%v: %.200q", err, data)
	}
	out := map[string][]string{}
	for _, row := range rows[1:] {
		for i, v := range row {
			out[rows[0][i]] = append(out[rows[0][i]], v)
		}
	}
	return out
}

func checkXML(t *testing.T, data []byte) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(data)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v: %.200q", err, data)
		}
	}
}

// reported is what is read of `whyslow report --json`.
type reported struct {
	Program string
	Wall    int64              `json:"wall_ns"`
	Total   int64              `json:"total_ns"`
	Factors map[string]shareOf `json:"factors"`
	Nodes   []struct {
		Node    int
		Factors map[string]shareOf
		Workers []struct {
			Worker  int
			Factors map[string]shareOf
		}
	}
	Fragments []struct {
		Code   string
		Count  int64
		Useful int64            `json:"useful_ns"`
		Mean   int64            `json:"mean_ns"`
		Max    int64            `json:"max_ns"`
		Caused map[string]int64 `json:"caused"`
	}
	Messages struct{ Count, Bytes int64 }
	Advice   []struct{ Text string }
	Warnings []string
	Run      struct{ Events int64 }
	Series   struct {
		Memory struct {
			Total struct {
				Bytes int64
				NS    int64 `json:"ns"`
			}
		}
		Links []struct{ From, To, DFs, CFs, Requests int64 }
	}
}
type shareOf struct {
	NS int64 `json:"ns"`
}

func (p *pages) report(t *testing.T, trace string) *reported {
	t.Helper()
	r := new(reported)
	cmd, stderr := p.command(t, "report", "--json", trace)
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != console.Done && code != console.Damaged {
		t.Fatalf("report %s: %v\n%s", trace, err, stderr)
	}
	if err := json.Unmarshal(out, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// plain is a text of the page without the spaces that only look different.
func plain(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("\u202f", "", "\u00a0", " ").Replace(s)), " ")
}

var factorLetters = []string{"U", "S", "L", "O", "W"}

// pageFigures: over the whole run the page says what the report says, to the nanosecond.
func pageFigures(t *testing.T, p *pages) {
	want := p.report(t, p.heat)
	s := p.serve(t, "view", p.heat)
	b := p.open(t, s.url+"?lang=en")
	b.settle()
	b.sameAsReport(want)

	// Bytes held.
	b.view("memory")
	held := fmt.Sprintf("%s at ", words.Bytes(want.Series.Memory.Total.Bytes))
	if got := plain(query[string](b, `document.querySelector("main .held").innerText`)); !strings.HasPrefix(got,
		held) {
		t.Errorf("%q, want %q", got, held)
	}
	sum := int64(0)
	for _, v := range b.table("Who holds memory")["Bytes"] {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			t.Error(err)
		}
		sum += n
	}
	if sum != want.Series.Memory.Total.Bytes {
		t.Errorf("at the peak %d bytes are held, want %d", sum, want.Series.Memory.Total.Bytes)
	}

	// An interval: the tables are of it, and its parts add up to the whole.
	b.view("overview")
	run := b.run()
	total := [6]int64{}
	for i := range int64(3) {
		from, to := want.Wall*i/3, want.Wall*(i+1)/3
		b.do(chromedp.Navigate(fmt.Sprintf("%s?run=%s&lang=en&sel=%d-%d", s.url, run, from, to)))
		b.settle()
		for f, ns := range b.factorSums("") {
			total[f] += ns
		}
	}
	for f, letter := range factorLetters {
		if whole := b.nodesSum(want, letter); total[f] != whole {
			t.Errorf("%s of three thirds is %d ns, of the whole run %d", letter, total[f], whole)
		}
	}
	b.quiet("figures")
}

func (b *tab) nodesSum(r *reported, letter string) (sum int64) {
	for _, n := range r.Nodes {
		sum += n.Factors[letter].NS
	}
	return sum
}

// factorSums reads the saved table of factors by worker: the sums of the rows whose worker is as given, by
// factor.
func (b *tab) factorSums(worker string) (out [6]int64) {
	b.Helper()
	_, data := b.save(`main .panel:has(.fold) [role=group] button`)
	c := columns(b.T, data)
	for f, letter := range factorLetters {
		for i, v := range c[letter+"_ns"] {
			if c["worker"][i] != worker {
				continue
			}
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				b.Error(err)
			}
			out[f] += n
		}
	}
	return out
}

// sameAsReport compares the overview, fragments and links of the whole run with a report.
func (b *tab) sameAsReport(want *reported) {
	b.Helper()
	b.view("overview")
	// Of a run that has only just ended the last answers may be on their way.
	says := func(what string) bool {
		return strings.Contains(plain(query[string](b, `document.querySelector("main").innerText`)), plain(what))
	}
	for _, letter := range factorLetters {
		ns := want.Factors[letter].NS
		text := words.English.Percent(ns, want.Total) + " " + words.English.Duration(ns)
		b.until("it says "+text, func() bool { return says(text) })
	}
	for _, a := range want.Advice {
		text := strings.NewReplacer("`", "", "->", " → ").Replace(a.Text)
		b.until("it says "+text, func() bool { return says(text) })
	}
	b.until("it says how many events there are", func() bool {
		return says(fmt.Sprintf("Events %d", want.Run.Events))
	})
	_, data := b.save(`main .panel:has(.fold) [role=group] button`)
	c := columns(b.T, data)
	row := map[string]int{}
	for i := range c["node"] {
		row[c["node"][i]+"."+c["worker"][i]] = i
	}
	for _, n := range want.Nodes {
		for _, letter := range factorLetters {
			if got := c[letter+"_ns"][row[fmt.Sprintf("%d.", n.Node)]]; got != fmt.Sprint(n.Factors[letter].NS) {
				b.Errorf("%s of node %d is %s ns, want %d", letter, n.Node, got, n.Factors[letter].NS)
			}
			for _, w := range n.Workers {
				if got := c[letter+"_ns"][row[fmt.Sprintf("%d.%d", n.Node, w.Worker)]]; got !=
					fmt.Sprint(w.Factors[letter].NS) {
					b.Errorf("%s of worker %d.%d is %s ns, want %d", letter, n.Node, w.Worker, got, w.Factors[letter].NS)
				}
			}
		}
	}
	b.view("fragments")
	c = b.table("Code fragments")
	row = map[string]int{}
	for i, name := range c["Code fragment"] {
		row[name] = i
	}
	for _, f := range want.Fragments {
		if f.Count == 0 {
			continue // run by the system: in a report it only causes
		}
		i, ok := row[f.Code]
		if !ok {
			b.Errorf("%s is not among %q", f.Code, c["Code fragment"])
			continue
		}
		got := []string{c["CFs"][i], c["Total"][i], c["Mean"][i], c["Max"][i], c["Caused S"][i], c["Caused L"][i],
			c["Caused O"][i]}
		if text := fmt.Sprint([]any{f.Count, f.Useful, f.Mean, f.Max, f.Caused["S"], f.Caused["L"],
			f.Caused["O"]}); fmt.Sprint(got) != text {
			b.Errorf("%s: %v, want %v", f.Code, got, text)
		}
	}

	b.view("links")
	c = b.table("Cells")
	sum := int64(0)
	for _, v := range c["Bytes of messages"] {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			b.Errorf("%v: %v", c, err)
		}
		sum += n
	}
	if sum != want.Messages.Bytes || len(c["Link"]) != len(want.Series.Links) {
		b.Errorf("%d bytes of messages on %d links, want %d on %d", sum, len(c["Link"]), want.Messages.Bytes,
			len(want.Series.Links))
	}
}
