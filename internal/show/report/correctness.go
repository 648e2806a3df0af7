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
		{r.LateRequests, "Requests that came too late", "The DF was gone when its request came. This is " +
			"harmless if the CF ran: it got the DF another way.", false},
		{r.NeverUsed, "DFs never used", "No CF took, awaited or requested them: making them was useless.", false},
		{r.HeldToEnd, "DFs held to the end", "The program did not delete them: not an error, but it " +
			"costs memory.", false},
	}
}

// wrong lists what is wrong with the program, nothing if all is well.
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
func (a *author) correctness() {
	r := a.Lifecycle
	wrong := a.wrong(r)
	switch {
	case !r.Final:
		a.para("The run was cut short: what is listed below was in progress, which is not a fault in " +
			"itself.")
	case len(wrong) > 0:
		a.warn("The program is wrong: %s.", strings.Join(wrong, "; "))
		a.add(block{In: short, Head: a.say("Wrong"), Colour: "S",
			Text: a.say("%s. See whyslow report --full.", strings.Join(wrong, "; "))})
	default:
		a.para("All CFs ran, all needed DFs were made once, all requests were answered.")
	}
	for _, m := range r.Missing {
		a.warn("%s was not recorded, so %s are unknown.", m.Event,
			strings.ReplaceAll(a.listOf(a.allNamed(findingNames, m.Findings)), "_", " "))
	}
	if c := r.CFs; c != nil && len(c.Groups) > 0 {
		a.left(c)
	}
	for _, f := range findings(r) {
		if f.Finding == nil || f.Count == 0 {
			continue
		}
		name := fmt.Sprintf("%s: %d", a.say(f.name), f.Count)
		show := func() {
			a.para(f.words)
			a.finding(f)
		}
		if f.wrong {
			a.heading(name)
			show()
			continue
		}
		if f.Bytes > 0 {
			name += ", " + a.lang.Bytes(f.Bytes)
		}
		a.details(name, show)
	}
}

// left lists the CFs that had something left to do.
func (a *author) left(c *lifecycle.CFs) {
	g := a.table("Unfinished CFs", "state", "statement", "#CFs", "for example", "waits for", "because")
	g.Heads[len(g.Heads)-1].Whole = true
	for _, x := range c.Groups {
		var examples, dfs, why []string
		for _, e := range x.Examples {
			examples = append(examples, a.say("%s on node %d since %s", e.CF, e.Node, words.Time(e.SinceNS)))
		}
		for _, f := range x.For {
			dfs = append(dfs, f.DFs...)
			why = append(why, f.In(a.lang))
		}
		state := a.named(stateNames, string(x.State))
		if x.Again {
			state = a.say("%s, had run before", state)
		}
		g.row(state, x.Place.In(a.lang), x.Count, strings.Join(examples, "; "), strings.Join(dfs, ", "),
			strings.Join(why, "; "))
	}
	g.More += c.MoreGroups
	if c.Circle {
		a.para("They wait for each other: a cycle.")
	}
	if c.More > 0 {
		a.para("%s for their results.", counted(c.More, "more waiting"))
	}
}

func (a *author) finding(f finding) {
	g := a.table(f.name, "DF", "statement", "#times", "#bytes", "for example", "remark")
	for _, x := range f.Groups {
		var examples []string
		for _, e := range x.Examples {
			s := e.DF
			if e.CF != "" {
				s = a.say("%s by %s", s, e.CF)
			}
			if e.Second != "" {
				s = a.say("%s at %s, again by %s at %s", s, words.Time(e.AtNS), e.Second, words.Time(e.SecondNS))
			}
			examples = append(examples, s)
		}
		remark := x.In(a.lang)
		if x.Second != nil {
			remark = strings.TrimSpace(a.say("again by %s", x.Second) + " " + remark)
		}
		if x.HeldNS > 0 {
			remark = strings.TrimSpace(a.say("held %s on average, %s of it after the last use %s",
				words.Time(mean(x.HeldNS, x.Count)), words.Time(mean(x.UnusedNS, x.Count)), remark))
		}
		g.row(x.Name, x.By.In(a.lang), x.Count, words.Size(x.Bytes), strings.Join(examples, "; "), remark)
	}
	g.More += f.More
}
