package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/show/report/svg"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// HTML writes all there is to tell about a run as one HTML file that needs nothing else: no network, no
// script to be read.
func HTML(w io.Writer, all *Everything, _ Options) error {
	h := newHTMLFace(all)
	p := &page{Lang: []string{"en", "ru"}[h.lang], Title: h.title(), Sections: h.sections(),
		Footer: h.say("Written by whyslow. docs/reading-the-report.md explains the words; the JSON report " +
			"(whyslow report " +
			"--json) has all numbers.")}
	return p.write(w)
}

// sections makes the sections of the page, in the language of the advice.
func (h *htmlFace) sections() (out []section) {
	for _, s := range []section{
		{"summary", "Summary", h.summary()},
		{"why", "Why it is slow", h.why()},
		{"factors", "Factors", h.factors()},
		{"pgas", "PGAS", h.pgasSection()},
		{"time", "Over time", h.overTime()},
		{"blame", "Who is to blame", h.blame()},
		{"path", "Critical path", h.path()},
		{"balance", "Balance", h.balance()},
		{"memory", "Memory and traffic", h.memory()},
		{"correctness", "Correctness", h.correctness()},
		{"facts", "The run", h.facts()},
	} {
		if len(s.Blocks) > 0 && !(h.onlyRegions() && slices.Contains(cfSections, s.ID)) {
			s.Title = h.say(s.Title)
			out = append(out, s)
		}
	}
	return out
}

// cfSections are the sections about CFs and DFs.
var cfSections = []string{"blame", "path", "balance", "memory", "correctness"}

// htmlFace makes the sections.
type htmlFace struct {
	*Everything
	speaker
}

func newHTMLFace(all *Everything) *htmlFace {
	return &htmlFace{all, speaker{words.LangOf(all.language)}}
}

func (h *htmlFace) title() string {
	if h.Run != nil && h.Run.Info.Program != "" {
		return h.Run.Info.Program
	}
	if h.SLOU != nil && h.SLOU.Program != "" {
		return h.SLOU.Program
	}
	return h.say("A program without a name")
}

// endings say how a run ended.
var endings = map[string]string{
	trace.EndedDone:        "It ran to its end.",
	trace.EndedFailed:      "It failed.",
	trace.EndedStuck:       "It could not finish: CFs were left waiting for DFs that never came.",
	trace.EndedInterrupted: "It was interrupted.",
}

func (h *htmlFace) summary() (out []block) {
	var tiles []tile
	if r := h.Run; r != nil {
		how := endings[r.Info.Ended]
		if how == "" {
			how = "The trace does not say how it ended: it was killed, crashed, or still runs."
		}
		how = h.say(how)
		if m := strings.TrimSpace(r.Info.Message); m != "" {
			how += " " + m
		}
		where := h.say("%s, %s", counted(int64(r.Nodes), "node"), counted(int64(r.Workers), "worker"))
		if h.onlyRegions() {
			where = h.say("%s", counted(int64(r.Workers), "thread"))
		}
		when := ""
		if !r.Info.Started.IsZero() {
			when = h.say(" Started %s.", r.Info.Started.Format("2006-01-02 15:04:05 MST"))
		}
		out = append(out, h.para("%s took %s on %s.%s %s", h.title(), words.Time(r.WallNS), where, when, how))
		tiles = append(tiles, tile{h.lang.Duration(r.WallNS), h.say("wall time"), ""})
	}
	if r := h.SLOU; r != nil {
		for i, s := range shares(&r.Factors) {
			f := factorNames[i]
			value := h.say("not recorded")
			if s != nil {
				value = h.lang.Percent(s.NS, r.TotalNS)
			}
			tiles = append(tiles, tile{value, h.say(f.name), strings.ToLower(f.letter)})
		}
	}
	if c := h.Critical; c != nil && c.Work != nil {
		tiles = append(tiles, tile{words.Decimal(c.Work.Parallelism).In(h.lang), h.say("average parallelism"), ""})
	}
	out = append(out, block{Tiles: tiles})
	if r := h.SLOU; r != nil {
		out = append(out,
			block{Figure: &figure{Plot: plotCell(svg.Strip(h.say("Shares of all processor time: %s",
				h.sharesInWords(&r.Factors, r.TotalNS)), 26,
				h.factorParts(&r.Factors, r.TotalNS, true))).Plot, Legend: h.factorLegend(r),
				Caption: h.say("All processor time, %s: workers x wall time, and the cores that the run-time "+
					"system used "+
					"beside them.",
					words.Time(r.TotalNS))}})
	}
	for _, f := range h.Failed {
		if errors.Is(f.Err, errNoCFs) {
			continue
		}
		out = append(out, h.warning("An analysis failed (%s): %s", f.Analysis, f.Why))
	}
	for _, s := range h.Warnings() {
		out = append(out, block{Warning: s})
	}
	return out
}

// goodUseful is the share of useful work above which a run is not slow.
const goodUseful = 0.95

func (h *htmlFace) why() []block {
	if h.SLOU == nil {
		return []block{h.failed(analysisSLOU)}
	}
	for _, f := range h.Failed {
		if f.Analysis == analysisAdvice {
			return []block{h.failed(analysisAdvice)}
		}
	}
	if len(h.Advice) == 0 {
		if u := h.SLOU.Factors.U; u != nil && float64(u.NS) >= goodUseful*float64(h.SLOU.TotalNS) {
			return []block{h.para("It is not slow: %s of all processor time is useful work. Only faster user code or "+
				"more workers make it faster.", words.Share{Part: u.NS, Whole: h.SLOU.TotalNS})}
		}
		return []block{h.para("Nothing stands out: no single reason explains much of the lost time.")}
	}
	return []block{h.para("Reasons, largest gain first. Gains overlap: do not add them up."), {Advice: h.Advice}}
}

// sharesInWords is the text alternative of a bar of factors.
func (h *htmlFace) sharesInWords(f *slou.Factors, total int64) string {
	var list []string
	for i, s := range shares(f) {
		if s != nil {
			list = append(list, h.say(factorNames[i].name)+" "+h.lang.Percent(s.NS, total))
		}
	}
	return strings.Join(list, ", ")
}

// factorParts are the pieces of a bar of factors; with their parts as shades.
func (h *htmlFace) factorParts(f *slou.Factors, total int64, parts bool) (out []svg.Part) {
	rest := total
	for i, s := range shares(f) {
		if s == nil {
			continue
		}
		rest -= s.NS
		class := strings.ToLower(factorNames[i].letter)
		tip := h.say("%s: %s, %s", h.say(factorNames[i].name), words.Share{Part: s.NS, Whole: total},
			words.Time(s.NS))
		list := slou.Largest(s.Parts)
		if !parts || len(list) == 0 {
			out = append(out, svg.Part{Class: class, Value: float64(s.NS), Tip: tip})
			continue
		}
		for j, p := range list {
			out = append(out, svg.Part{Class: shade(class, j), Value: float64(p.NS),
				Tip: h.say("%s.%s%s: %s, %s", factorNames[i].letter, p.Name, h.inWords(factorNames[i].letter, p.Name),
					words.Share{Part: p.NS, Whole: total}, words.Time(p.NS))})
		}
	}
	if rest > 0 {
		out = append(out, svg.Part{Class: "x", Value: float64(rest),
			Tip: h.say("not divided: %s, %s", words.Share{Part: rest, Whole: total}, words.Time(rest))})
	}
	return out
}

// shade is the class of the i-th part of a factor.
func shade(class string, i int) string {
	if i == 0 {
		return class
	}
	return fmt.Sprintf("%s p%d", class, min(i, 5))
}

// sentence begins with a capital letter, or with the name of an operation as it is, and ends with a full
// stop.
func sentence(s string) string {
	if first, _, _ := strings.Cut(s, " "); strings.Contains(first, "_") {
		return strings.TrimSuffix(s, ".") + "."
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + strings.TrimSuffix(s[n:], ".") + "."
}

// inWords explains a part of a factor: " (ready on other nodes)"; "" where its name says all.
func (s speaker) inWords(factor, part string) string {
	if words := partWords[part]; words != "" && factor != "W" && factor != "L" {
		return " (" + s.say(words) + ")"
	}
	return ""
}

func (h *htmlFace) factorLegend(r *slou.Result) (out []key) {
	for i, s := range shares(&r.Factors) {
		if s != nil {
			out = append(out, key{strings.ToLower(factorNames[i].letter), h.say(factorNames[i].name)})
		}
	}
	if r.UndividedNS > 0 {
		out = append(out, key{"x", h.say("not divided")})
	}
	return out
}
