package engine

// Events emitted by rule. A rule names a point in the life of a CF, a side of it (before or after), and what
// the event carries.
//
// At the start every rule becomes lists of emissions, by point, side and statement: CFs whose statement no
// rule concerns are not held up. Arguments of an emission are constants if the statement determines them,
// otherwise operations on the CF (ruleargs.go); nothing is looked up when an event is emitted. Without rules
// engine.rules is nil, and that is all a run without them looks at.
//
// The standard events of blocks have built-in points, where the engine emits them itself (engine.std). If a
// rule moves one, or limits it to some code fragments, it becomes an emission like the others.
//
//	taken from the queue ──► entry (first time here) ──► BlockRetStatus ──► WAIT, MIGRATE, STEAL, EXIT: gone
//	                                                            ▲      └──► CONTINUE ─┐
//	                                                            └─────────────────────┘
//
// After WAIT, MIGRATE, STEAL and EXIT the CF may belong to anybody, so the arguments of what is emitted then
// are taken before (leave, left).

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// point is a place in the engine where rules are looked at. The first ones are points of users, the others
// variants of them that standard events do not know or that only they know.
type point uint8

const (
	atEntry    point = iota
	atHead           // a block begins or begins again; the CF comes from the queue
	atExit           //
	atContinue       //
	atMigrate        //
	atWait           //
	atSteal          //
	atCall           //
	atNext           // the next block begins after CONTINUE
	atSend           // migrates outside of its blocks: when it is created, or from the queue
	atRob            // stolen from the queue
	atFailed         // the execution failed: no EXIT, but the block has ended
	atCrash          // user code did not return: the call has ended
	points
)

var pointNames = []struct {
	name string
	at   []point
}{
	{"entry", []point{atEntry}},
	{"BlockRetStatus", []point{atHead, atNext}},
	{"return EXIT", []point{atExit}},
	{"return CONTINUE", []point{atContinue}},
	{"return MIGRATE", []point{atMigrate, atSend}},
	{"return WAIT", []point{atWait}},
	{"return STEAL", []point{atSteal, atRob}},
	{"foreign call", []point{atCall}},
}

// places are where the engine looks at rules for a point; nil: there is no such point.
func places(name string) []point {
	for _, p := range pointNames {
		if p.name == name {
			return p.at
		}
	}
	return nil
}

// builtIn are the standard events that rules may limit or move, and where they are emitted.
var builtIn = map[trace.Kind]struct {
	before bool
	point  string
	at     []point
}{
	trace.KindBlockStarted:   {false, "BlockRetStatus", []point{atHead}},
	trace.KindBlockExited:    {true, "return EXIT", []point{atExit, atFailed}},
	trace.KindBlockWaiting:   {true, "return WAIT", []point{atWait}},
	trace.KindBlockMigrated:  {true, "return MIGRATE", []point{atMigrate, atSteal}},
	trace.KindBlockContinued: {true, "return CONTINUE", []point{atContinue}},
	trace.KindForeignStarted: {true, "foreign call", []point{atCall}},
	trace.KindForeignEnded:   {false, "foreign call", []point{atCall, atCrash}},
}

// std has the standard events that the engine emits at their built-in points, by kind. Events that rules have
// taken over are those of a session that is off.
type std [trace.KindForeignEnded + 1]*prof.Session

// sides are the emissions before and after a point, by luna.Stmt.ID; nil: none at all.
type sides struct{ before, after [][]*emission }

// emission is an event that a rule has emitted for the CFs of one statement.
type emission struct {
	user *prof.UserEvent // nil: a standard event
	std  trace.Kind
	next bool // onContinued at its own point: its block is the one to come
	args []arg
}

// CheckRule reports what is wrong with the rule of an event, in one line without its position.
func CheckRule(r config.EventState) error {
	if places(r.Rule.Point) == nil {
		var names []string
		for _, p := range pointNames {
			names = append(names, p.name)
		}
		return fmt.Errorf("event %s: there is no point %q in LuNA programs: there are %s", &r, r.Rule.Point,
			strings.Join(names, ", "))
	}
	if slices.Contains(r.Functions, "") {
		return fmt.Errorf("event %s: an empty pattern matches no code fragment; leave functions out for all", &r)
	}
	if k, ok := trace.KindByName(r.Namespace, r.Name); ok {
		return checkStandard(&r, k)
	}
	fields, _, err := readArgs(r.Args)
	if err != nil {
		return fmt.Errorf("event %s: %w", &r, err)
	}
	spec := trace.KindSpec{Namespace: r.Namespace, Name: r.Name, Fields: fields}
	return spec.Check()
}

// checkStandard checks a rule for a standard event: its signature stays.
func checkStandard(r *config.EventState, k trace.Kind) error {
	if _, ok := builtIn[k]; !ok {
		return fmt.Errorf("event %s is emitted by the run-time system itself; its place is fixed", r)
	}
	fixed := []string{"func", "time", "now", "code", "block"}[:3+len(k.Spec().Fields)]
	_, args, err := readArgs(r.Args)
	if err != nil {
		return fmt.Errorf("event %s: %w", r, err)
	}
	for i, a := range args {
		if a.argument == nil || !slices.Contains(fixed, a.field) {
			return fmt.Errorf("event %s is a standard one with the fields %s and a time: it cannot carry"+
				" %s; give the event another name", r, k.Spec().Signature(), r.Args[i])
		}
	}
	return nil
}

// matches reports whether the rule of an event holds for a code fragment.
func matches(r *config.EventState, code string) bool {
	return len(r.Functions) == 0 || slices.ContainsFunc(r.Functions,
		func(pattern string) bool { return config.Match(pattern, code) })
}

// setRules prepares the standard events of blocks, and those emitted by rule.
func (e *engine) setRules() error {
	for k := range builtIn {
		e.std[k] = e.ses
	}
	var mono unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono); err != nil {
		return fmt.Errorf("reading the monotonic clock: %w", err)
	}
	now := clock.Now()
	e.steady, e.wall = mono.Nano()-now, time.Now().UnixNano()-now
	if !e.recording {
		return nil
	}
	for i := range e.cfg.Rules {
		if err := e.addRule(&e.cfg.Rules[i]); err != nil {
			return fmt.Errorf("%s%w", where(&e.cfg.Rules[i]), err)
		}
	}
	return nil
}

// where begins messages about the rule of an event.
func where(r *config.EventState) string {
	if r.Pos == (config.Pos{}) {
		return ""
	}
	return r.Pos.String() + ": "
}

func (e *engine) addRule(r *config.EventState) error {
	if err := CheckRule(*r); err != nil {
		return err
	}
	if !slices.ContainsFunc(e.prog.Codes, func(c luna.Code) bool { return matches(r, c.Name) }) &&
		e.cfg.Warn != nil {
		e.cfg.Warn(fmt.Sprintf("%sevent %s: the program has no code fragment called %s", where(r), r,
			strings.Join(r.Functions, " or ")))
	}
	fields, args, err := readArgs(r.Args)
	if err != nil {
		return err
	}
	var proto emission
	at := places(r.Rule.Point)
	if k, ok := trace.KindByName(r.Namespace, r.Name); ok {
		b := builtIn[k]
		same := config.Rule{Before: b.before, Point: b.point} == *r.Rule
		if same && len(r.Functions) == 0 {
			return nil
		}
		if same {
			at = b.at
		}
		proto.std, proto.next = k, same && k == trace.KindBlockContinued
		if _, args, err = readArgs([]string{"block"}); err != nil {
			return err
		}
		e.std[k] = prof.New()
		e.std[k].EnableAll(false)
	} else {
		if proto.user, err = e.ses.Define(r.Namespace, r.Name, fields...); err != nil {
			return err
		}
	}
	if e.rules == nil {
		e.rules = &[points]sides{}
	}
	for _, p := range at {
		side := &e.rules[p].after
		if r.Rule.Before {
			side = &e.rules[p].before
		}
		if *side == nil {
			*side = make([][]*emission, len(e.prog.Stmts))
		}
		for i, st := range e.prog.Stmts {
			if matches(r, e.prog.Codes[st.Code].Name) {
				em := proto
				em.args = e.resolve(args, st, p == atCall && !r.Rule.Before || p == atExit)
				(*side)[i] = append((*side)[i], &em)
			}
		}
	}
	return nil
}

// before emits what rules want before a point. The CF is the actor's.
func (a *actor) before(p point, c *cf) {
	if r := a.n.eng.rules; r != nil {
		a.sideBefore(p, c)
	}
}

// after emits what rules want after a point at which the CF stays.
func (a *actor) after(p point, c *cf) {
	if r := a.n.eng.rules; r != nil {
		a.sideAfter(p, c)
	}
}

// leave emits what rules want before a point at which the CF goes, and keeps what left emits.
func (a *actor) leave(p point, c *cf) {
	if r := a.n.eng.rules; r != nil {
		a.sideBefore(p, c)
		a.keep(r[p].after, c, p)
	}
}

// left emits what rules want after a point at which the CF went.
func (a *actor) left(p point) {
	if r := a.n.eng.rules; r != nil && r[p].after != nil {
		a.emitKept()
	}
}

// beforeAt is before with the time of the event, which is no later than the present one.
func (a *actor) beforeAt(p point, c *cf, t int64) {
	if r := a.n.eng.rules; r != nil {
		a.emitAll(r[p].before, c, p, t)
	}
}

func (a *actor) sideBefore(p point, c *cf) {
	r := a.n.eng.rules
	if p == atHead && !c.began {
		a.emitAll(r[atEntry].before, c, atEntry, 0)
	}
	a.emitAll(r[p].before, c, p, 0)
}

// sideAfter also deals with the block that begins when the one before has ended with CONTINUE.
func (a *actor) sideAfter(p point, c *cf) {
	r := a.n.eng.rules
	a.emitAll(r[p].after, c, p, 0)
	switch {
	case p == atHead && !c.began:
		c.began = true
		a.emitAll(r[atEntry].after, c, atEntry, 0)
	case p == atContinue:
		a.emitAll(r[atNext].before, c, atNext, 0)
		a.emitAll(r[atNext].after, c, atNext, 0)
	}
}

// called emits what rules want after a call of user code.
func (w *worker) called(c *cf, done bool, t int64) {
	r := w.n.eng.rules
	if !done {
		w.emitAll(r[atCrash].after, c, atCrash, t)
		return
	}
	w.takeOutputs(c.st)
	w.measure(w.outs)
	w.emitAll(r[atCall].after, c, atCall, t)
}

// measure notes number and size of the outputs that are set.
func (a *actor) measure(outs []cpp.Value) {
	a.made.n, a.made.bytes = 0, 0
	for _, v := range outs {
		if v.Type != cpp.Unset {
			a.made.n++
			a.made.bytes += v.Size()
		}
	}
}

// emitAll emits events of a CF; t 0: now.
func (a *actor) emitAll(side [][]*emission, c *cf, p point, t int64) {
	if side == nil || len(side[c.st.ID]) == 0 {
		return
	}
	if t == 0 {
		a.now = clock.Now()
		t = a.now
	}
	for _, em := range side[c.st.ID] {
		if em.on(a) {
			a.vals = a.values(a.vals[:0], em, c, p)
			a.emit(em, siteOf(c.st), a.vals, t)
		}
	}
}

func (em *emission) on(a *actor) bool { return em.user == nil || em.user.On() }

// kept is an event that is to be emitted when its CF has left.
type kept struct {
	em   *emission
	site trace.Site
	vals []any
}

func (a *actor) keep(side [][]*emission, c *cf, p point) {
	a.kept = a.kept[:0]
	if side == nil {
		return
	}
	for _, em := range side[c.st.ID] {
		if em.on(a) {
			a.kept = append(a.kept, kept{em, siteOf(c.st), a.values(nil, em, c, p)})
		}
	}
}

func (a *actor) emitKept() {
	if len(a.kept) == 0 {
		return
	}
	a.now = clock.Now()
	for _, k := range a.kept {
		a.emit(k.em, k.site, k.vals, a.now)
	}
}

// emit emits one event at the time t; of its values those that depend on it are still missing.
func (a *actor) emit(em *emission, site trace.Site, vals []any, t int64) {
	s := a.n.eng.ses
	if em.user != nil {
		a.timed(vals, em, t)
		if err := em.user.EmitAt(a.ps, t, vals...); err != nil {
			a.n.eng.emitFailed.Do(func() {
				if a.n.eng.cfg.Warn != nil {
					a.n.eng.cfg.Warn(err.Error())
				}
			})
		}
		return
	}
	block, _ := vals[0].(uint64)
	switch em.std {
	case trace.KindBlockStarted:
		s.BlockStarted.EmitAt(a.ps, t, site, block)
	case trace.KindBlockExited:
		s.BlockExited.EmitAt(a.ps, t, site, block)
	case trace.KindBlockWaiting:
		s.BlockWaiting.EmitAt(a.ps, t, site, block)
	case trace.KindBlockMigrated:
		s.BlockMigrated.EmitAt(a.ps, t, site, block)
	case trace.KindBlockContinued:
		if em.next {
			block = nextBlock(block)
		}
		s.BlockContinued.EmitAt(a.ps, t, site, block)
	case trace.KindForeignStarted:
		s.ForeignStarted.EmitAt(a.ps, t, site)
	case trace.KindForeignEnded:
		s.ForeignEnded.EmitAt(a.ps, t, site)
	}
}

// nextBlock is the block that follows one that ends with CONTINUE.
func nextBlock(b uint64) uint64 {
	if b == stageHome {
		return stageMain
	}
	return stageHome
}
