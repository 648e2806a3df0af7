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
		{r.NeverProduced, "DFs never produced", "CFs waited for them or requested them, but nothing made them.",
			true},
		{r.ProducedTwice, "DFs produced twice", "They got a second value.", true},
		{r.Unanswered, "Requests never answered", "They went to another node; nothing came back.", true},
		{r.LateRequests, "Requests that came too late",
			"The DF was gone when its request came. That does no harm " +
				"if the CF ran: it got the DF in another way.", false},
		{r.NeverUsed, "DFs never used", "No CF took, awaited or requested them: making them was useless.", false},
		{r.HeldToEnd, "DFs held to the end", "The program did not delete them: no error, but memory.", false},
	}
}

// wrongWords lists what is wrong with the program, nothing if all is well.
func (s speaker) wrong(r *lifecycle.Result) (out []string) {
	if !r.Final {
		return nil
	}
	if c := r.CFs; c != nil {
		n := int64(0)
		for _, k := range c.Left {
			n += k
		}
		if n > 0 {
			out = append(out, s.say("%s never finished", counted(n, "CF")))
		}
	}
	for _, f := range findings(r) {
		if f.wrong && f.Finding != nil && f.Count > 0 {
			out = append(out, fmt.Sprintf("%s: %d", s.say(f.name), f.Count))
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
	switch wrong := h.wrong(r); {
	case !r.Final:
		out = append(out,
			h.para("The run was cut short: what is left below was in progress and no fault in itself."))
	case len(wrong) > 0:
		out = append(out, h.warning("The program is wrong: %s.", strings.Join(wrong, "; ")))
	default:
		out = append(out, h.para("All CFs ran, all needed DFs were made once, all requests were answered."))
	}
	for _, m := range r.Missing {
		out = append(out, block{Warning: h.say("%s was not recorded, so %s are unknown.", m.Event,
			strings.ReplaceAll(h.listOf(m.Findings), "_", " "))})
	}
	if c := r.CFs; c != nil && len(c.Groups) > 0 {
		out = append(out, h.left(c)...)
	}
	for _, f := range findings(r) {
		if f.Finding == nil || f.Count == 0 {
			continue
		}
		b := []block{h.para(f.words), {Table: h.finding(f)}}
		if f.wrong {
			out = append(append(out, h.heading(fmt.Sprintf("%s: %d", h.say(f.name), f.Count))), b...)
		} else {
			size := ""
			if f.Bytes > 0 {
				size = ", " + h.lang.Bytes(f.Bytes)
			}
			out = append(out, h.details(fmt.Sprintf("%s: %d%s", h.say(f.name), f.Count, size), b...))
		}
	}
	return out
}

// left lists the CFs that had something left to do.
func (h *htmlFace) left(c *lifecycle.CFs) []block {
	g := h.grid("Unfinished CFs", "state", "statement", "#CFs", "for example", "waits for", "because")
	g.Heads[len(g.Heads)-1].Whole = true
	for i := range c.Groups {
		x := &c.Groups[i]
		var examples, dfs, why []string
		for _, e := range x.Examples {
			examples = append(examples, h.say("%s on node %d since %s", e.CF, e.Node, words.Time(e.SinceNS)))
		}
		for _, f := range x.For {
			dfs = append(dfs, f.DFs...)
			why = append(why, f.Why)
		}
		state := string(x.State)
		if x.Again {
			state = h.say("%s, had run before", state)
		}
		g.row(word(state), word(x.Place.String()), number(x.Count), word(strings.Join(examples, "; ")),
			word(strings.Join(dfs, ", ")), word(strings.Join(why, "; ")))
	}
	g.More += c.MoreGroups
	out := []block{h.heading("Unfinished CFs"), {Table: g}}
	if c.Circle {
		out = append(out, h.para("They wait for each other: a cycle."))
	}
	if c.More > 0 {
		out = append(out, h.para("%s for their results.", counted(c.More, "more waiting")))
	}
	return out
}

func (h *htmlFace) finding(f finding) *grid {
	g := h.grid(f.name, "DF", "statement", "#times", "#bytes", "for example", "remark")
	for i := range f.Groups {
		x := &f.Groups[i]
		var examples []string
		for _, e := range x.Examples {
			s := e.DF
			if e.CF != "" {
				s = h.say("%s by %s", s, e.CF)
			}
			if e.Second != "" {
				s = h.say("%s at %s, again by %s at %s", s, words.Time(e.AtNS), e.Second, words.Time(e.SecondNS))
			}
			examples = append(examples, s)
		}
		remark := x.Why
		if x.Second != nil {
			remark = strings.TrimSpace(h.say("again by %s", x.Second) + " " + remark)
		}
		if x.HeldNS > 0 {
			remark = strings.TrimSpace(h.say("held %s on average, %s of it after the last use %s",
				words.Time(mean(x.HeldNS, x.Count)), words.Time(mean(x.UnusedNS, x.Count)), remark))
		}
		g.row(word(x.Name), word(x.By.String()), number(x.Count), sizeCell(x.Bytes),
			word(strings.Join(examples, "; ")), word(remark))
	}
	g.More += f.More
	return g
}
