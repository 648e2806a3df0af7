package report

import (
	"fmt"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/words"
)

// finding is one of lifecycle's, with what it is.
type finding struct {
	*lifecycle.Finding
	name, words string
	wrong       bool // an error of the program; otherwise only worth knowing
}

func findings(r *lifecycle.Result) []finding {
	return []finding{
		{r.NeverProduced, "DFs never produced", "CFs waited for them or asked for them, and nothing made them.", true},
		{r.ProducedTwice, "DFs produced twice", "They got a value while they had one.", true},
		{r.Unanswered, "Requests never answered", "They went to another node, and nothing came back.", true},
		{r.LateRequests, "Requests that came too late", "The DF had been destroyed when the request for it came. No harm was done if its CF ran all the same: it got the DF in another way.", false},
		{r.NeverUsed, "DFs never used", "No CF was given them, waited for them or asked for them: making them was for nothing.", false},
		{r.HeldToEnd, "DFs held to the end", "The program did not delete them; that is no error, but memory.", false},
	}
}

// wrongWords lists what is wrong with the program, nothing if all is well.
func wrongWords(r *lifecycle.Result) (out []string) {
	if !r.Final {
		return nil
	}
	if c := r.CFs; c != nil {
		n := int64(0)
		for _, k := range c.Left {
			n += k
		}
		if n > 0 {
			out = append(out, words.Count(n, "CF")+" never finished")
		}
	}
	for _, f := range findings(r) {
		if f.wrong && f.Finding != nil && f.Count > 0 {
			out = append(out, fmt.Sprintf("%s: %d", f.name, f.Count))
		}
	}
	return out
}

// correctness: what became of CFs, DFs and requests.
func (h *htmlFace) correctness() []block {
	r := h.Lifecycle
	if r == nil {
		return []block{h.failed(analysisLifecycle)}
	}
	var out []block
	switch wrong := wrongWords(r); {
	case !r.Final:
		out = append(out, para("The run was cut short: what is left below was under way, and is no fault in itself."))
	case len(wrong) > 0:
		out = append(out, block{Warning: "The program is wrong: " + strings.Join(wrong, "; ") + "."})
	default:
		out = append(out, para("All CFs ran, all DFs that were needed were made once, all requests were answered."))
	}
	for _, m := range r.Missing {
		out = append(out, block{Warning: fmt.Sprintf("%s was not recorded: nothing can be said about %s.", m.Event, strings.ReplaceAll(listOf(m.Findings), "_", " "))})
	}
	if c := r.CFs; c != nil && len(c.Groups) > 0 {
		out = append(out, h.left(c)...)
	}
	for _, f := range findings(r) {
		if f.Finding == nil || f.Count == 0 {
			continue
		}
		b := []block{para("%s", f.words), {Table: h.finding(f)}}
		if f.wrong {
			out = append(append(out, block{Heading: fmt.Sprintf("%s: %d", f.name, f.Count)}), b...)
		} else {
			size := ""
			if f.Bytes > 0 {
				size = ", " + words.Bytes(f.Bytes)
			}
			out = append(out, block{Details: &details{fmt.Sprintf("%s: %d%s", f.name, f.Count, size), b}})
		}
	}
	return out
}

// left lists the CFs that had something left to do.
func (h *htmlFace) left(c *lifecycle.CFs) []block {
	g := newGrid("CFs that did not finish", "state", "statement", "#CFs", "for example", "waits for", "because")
	g.Heads[len(g.Heads)-1].Whole = true
	for i := range c.Groups {
		x := &c.Groups[i]
		var examples, dfs, why []string
		for _, e := range x.Examples {
			examples = append(examples, fmt.Sprintf("%s on node %d since %s", e.CF, e.Node, words.Duration(e.SinceNS)))
		}
		for _, f := range x.For {
			dfs = append(dfs, f.DFs...)
			why = append(why, f.Why)
		}
		state := string(x.State)
		if x.Again {
			state += ", had run before"
		}
		g.row(word(state), word(x.Place.String()), number(x.Count), word(strings.Join(examples, "; ")), word(strings.Join(dfs, ", ")), word(strings.Join(why, "; ")))
	}
	g.More += c.MoreGroups
	out := []block{{Heading: "CFs that did not finish"}, {Table: g}}
	if c.Circle {
		out = append(out, para("Each waits for what another one of them would make: a circle."))
	}
	if c.More > 0 {
		out = append(out, para("%s for what these would have made.", waits(c.More)))
	}
	return out
}

func waits(n int64) string {
	if n == 1 {
		return "1 more CF waits"
	}
	return fmt.Sprintf("%d more CFs wait", n)
}

func (h *htmlFace) finding(f finding) *grid {
	g := newGrid(f.name, "DF", "statement", "#times", "#bytes", "for example", "remark")
	for i := range f.Groups {
		x := &f.Groups[i]
		var examples []string
		for _, e := range x.Examples {
			s := e.DF
			if e.CF != "" {
				s += " by " + e.CF
			}
			if e.Second != "" {
				s += fmt.Sprintf(" at %s, again by %s at %s", words.Duration(e.AtNS), e.Second, words.Duration(e.SecondNS))
			}
			examples = append(examples, s)
		}
		remark := x.Why
		if x.Second != nil {
			remark = strings.TrimSpace("again by " + x.Second.String() + " " + remark)
		}
		if x.HeldNS > 0 {
			remark = strings.TrimSpace(fmt.Sprintf("held %s on average, %s of it after the last use %s", words.Duration(mean(x.HeldNS, x.Count)), words.Duration(mean(x.UnusedNS, x.Count)), remark))
		}
		g.row(word(x.Name), word(x.By.String()), number(x.Count), sizeCell(x.Bytes), word(strings.Join(examples, "; ")), word(remark))
	}
	g.More += f.More
	return g
}
