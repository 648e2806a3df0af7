package lifecycle

import (
	"slices"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// DFs that the statement that makes them does not store, or that are never pushed to those that wait for
// that: traps of the language (luna.Trap), which the source, and so the trace, tells.

// lost is a DF that the CFs of a statement make and do not store, or that is never pushed to them.
type lost struct {
	arg
	trap luna.Trap
	mend string // see luna.Lost
}

// losing gives what the CFs lose that may be a DF; unpushed: what is never pushed to them.
func (c *call) losing(full string, unpushed bool) *lost {
	for i := range c.lost {
		l := &c.lost[i]
		if unpushed == (l.trap == luna.NoPush) && l.mayBe(full) {
			return l
		}
	}
	return nil
}

// mayBe tells whether an argument may be a DF.
func (a *arg) mayBe(full string) bool {
	name, indices, ok := numbers(full)
	if !ok || a.name != name || len(a.indices) != len(indices) {
		return false
	}
	_, fits := a.bind(indices, bindings{})
	return fits
}

// loses makes a trap the reason if a statement falls into one with a DF.
func (s *makers) loses(w *why, site uint32, full string, unpushed bool) bool {
	if c := s.calls[site]; c != nil {
		if l := c.losing(full, unpushed); l != nil {
			w.kind, w.site, w.trap, w.mend = Lost, site, l.trap, l.mend
			return true
		}
	}
	return false
}

// findLoser looks for a statement that would lose a DF that nothing makes, and whether others might store it.
func (s *makers) findLoser(w *why, full string) {
	for _, site := range s.losers {
		if s.loses(w, site, full, false) {
			if s.postedBesides(w, full) {
				w.kind = NobodyMakes
			}
			return
		}
	}
}

// postedBesides tells whether other statements than the one that loses a DF may store it.
func (s *makers) postedBesides(w *why, full string) bool {
	for site, c := range s.calls {
		pushes := w.trap == luna.OnlyPush && uint32(site) == w.site
		if c != nil && !pushes && s.atomic(uint32(site)) &&
			slices.ContainsFunc(c.args, func(a arg) bool { return a.made && a.mayBe(full) }) {
			return true
		}
	}
	return false
}

// lostWhenMade corrects a reason for a DF with a value, if the statement that made it is to blame: it stored
// it nowhere, or pushed it only.
func (s *makers) lostWhenMade(w *why, d *whereabouts, full string) {
	if w.kind != Elsewhere && (w.kind != "" || !s.f.res.Final) || s.f.off(trace.KindDFStored) {
		return
	}
	for _, made := range d.Made {
		x := why{df: w.df}
		if made.Site != 0 && s.loses(&x, made.Site-1, full, false) &&
			(len(d.Copies) == 0 || x.trap == luna.OnlyPush && !s.postedBesides(&x, full)) {
			*w = x
			return
		}
	}
}

// programKnows corrects a reason by what the engine knows.
func (s *makers) programKnows(w *why, a *luna.AwaitedDF) {
	if a.Stored >= 0 {
		*w = why{df: w.df, kind: Elsewhere, node: int32(a.Stored), asked: int32(a.Asked)}
		x := apart{put: sideOf(a.Maker, a.Put, a.In), in: sideOf(a.Reader, a.In, a.Put)}
		if a.Maker != nil {
			x.maker = placeIn(a.Maker.Text, a.Maker.Pos)
		}
		w.apart = s.keep(x)
		return
	}
	for _, l := range a.Reader.Lost {
		if l.Trap == luna.NoPush && l.Ref == a.In && len(s.f.program.Names[a.Decl].Makers) > 0 {
			*w = why{df: w.df, kind: Lost, site: uint32(a.Reader.ID), trap: l.Trap, mend: l.Mend}
		}
	}
	if w.kind != NobodyMakes || a.Push {
		return
	}
	uses := s.f.program.Names[a.Decl]
	if u, posted := uses.LostOf(a.ID[2:]); u != nil {
		w.site, w.trap, w.mend = uint32(u.Stmt().ID), u.Trap, u.Mend
		if !posted {
			w.kind = Lost
		}
	}
}

// trapped says which statement falls into which trap with a DF, and what to do.
func (s *makers) trapped(w *why, df *awaited) words.Text {
	at := s.f.placeOf(int(w.site))
	switch w.trap {
	case luna.SubToken:
		return words.Say("%s calls a sub, so its >> posts nothing: add `%s;` to that call",
			"%s вызывает подпрограмму, поэтому >> ничего не публикует: добавьте к вызову `%s;`", at, w.mend)
	case luna.Dropped:
		return words.Say("%s makes it and drops it: remove `%s;` there",
			"%s вычисляет и выбрасывает его: уберите там `%s;`", at, w.mend)
	case luna.OnlyPush:
		return words.Say("%s only pushes it (afterpush): add `%s;` to that call; the CF that it is pushed to "+
			"needs the rule wait", "%s только отправляет его (afterpush): добавьте к вызову `%s;`; ФВ-получателю "+
			"нужно правило wait", at, w.mend)
	case luna.NoPush:
		return words.Say("it must be pushed, as a rule wait says, and nothing pushes it: remove wait, or add "+
			"`%s;` to %s", "его должны прислать, так сказано в правиле wait, но никто не присылает: уберите wait или "+
			"добавьте `%s;` к %s", w.mend, listed(s.makersOf(df)))
	}
	return words.Say("%s makes it and does not post it, because a rule there is for another DF of this name: "+
		"add `%s;` to that call", "%s вычисляет его, но не публикует, потому что там есть правило для другого ФД "+
		"с тем же именем: добавьте к вызову `%s;`", at, w.mend)
}

// makersOf gives the statements that make DFs of the name of a DF.
func (s *makers) makersOf(df *awaited) (list []Place) {
	if s.f.program != nil {
		return places(s.f.program.Names[df.decl].Makers)
	}
	for _, site := range s.sites[df.Name] {
		list = append(list, s.f.placeOf(int(site)))
	}
	return list
}
