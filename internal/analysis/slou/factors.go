package slou

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Factors and their parts. How they are shown stands in words.AllFactors and words.AllParts. What gives time
// to them is the business of the rule (rule.go), of divide.go and of package pattern.

// Factor is one of the five shares of processor time.
type Factor uint8

// The factors, in the order of words.AllFactors.
const (
	FactorU Factor = iota
	FactorS
	FactorL
	FactorO
	FactorW
	FactorLoss      // time of which nothing is known; in no total
	FactorUndivided // time of the factors that cannot be computed; no piece has it
	factorCount
)

// needs are the kinds of events without which a factor cannot be computed.
var needs = func() (list [factorCount][]trace.Kind) {
	list[FactorU] = []trace.Kind{trace.KindCFStarted, trace.KindCFFinished, trace.KindCFCreated}
	list[FactorS] = append(slices.Clip(list[FactorU]), trace.KindDFCreate)
	list[FactorO] = append(slices.Clip(list[FactorS]), trace.KindDFReceived, trace.KindDFSent,
		trace.KindDFRequested, trace.KindDFRequestReceived, trace.KindCFReceived, trace.KindCFMigrated)
	list[FactorL] = append(slices.Clip(list[FactorO]), trace.KindPut)
	list[FactorW] = []trace.Kind{trace.KindCollective}
	return list
}()

// Info tells how the factor is shown.
func (f Factor) Info() *words.Factor { return &words.AllFactors[f] }

// String gives the letter of the factor, or "loss".
func (f Factor) String() string { return words.AllFactors[f].Letter }

// FactorOf gives the factor with a letter, FactorUndivided where there is none.
func FactorOf(letter string) Factor {
	for f := range FactorUndivided {
		if f.String() == letter {
			return f
		}
	}
	return FactorUndivided
}

// Part is a named share of a factor.
type Part uint8

// The parts that have names of their own, in the order of words.AllParts.
const (
	PartNone Part = iota
	PartNowhere
	PartHere
	PartElsewhere
	PartCreate
	PartRequest
	PartSend
	PartDeliver
	PartDispatch
	PartPreempt
	PartSteal
	PartExtra
	PartLock
	PartIO
	PartSleep
	PartFault
	PartBlocked
	PartCount
)

// Parts of S in a run of regions.
const (
	partStart = "start" // before the thread's first event
	partEnd   = "end"   // after its last
)

// Info tells how a part is shown; that of PartNone is empty.
func (p Part) Info() *words.Part {
	if p == PartNone {
		return &noPart
	}
	return &words.AllParts[p-1]
}

var noPart words.Part

// String gives the name used in reports, empty where the part is named by a link or a lock.
func (p Part) String() string { return p.Info().Name }

// Parts lists the parts of the factor that have names of their own, in the order they are reported.
func (f Factor) Parts() []Part { return partsOf[f] }

var partsOf = func() (of [factorCount][]Part) {
	for p := PartNowhere; p < PartCount; p++ {
		f := FactorOf(p.Info().Factor)
		of[f] = append(of[f], p)
	}
	return of
}()

// Factors are the five shares; nil is what the recorded events do not allow to compute.
type Factors struct {
	U *Useful `json:"U"`
	S *Share  `json:"S"`
	L *Share  `json:"L"`
	O *Share  `json:"O"`
	W *Share  `json:"W"`
}

// All gives the shares in the order of the factors, nil for those that cannot be computed.
func (f *Factors) All() (list [FactorLoss]*Share) {
	for k := range list {
		list[k] = f.Of(Factor(k))
	}
	return list
}

// Of gives the share of a factor below FactorLoss.
func (f *Factors) Of(k Factor) *Share {
	if k == FactorU {
		if f.U == nil {
			return nil
		}
		return &f.U.Share
	}
	return *f.share(k)
}

// NS is the time of a factor, 0 where it cannot be computed.
func (f *Factors) NS(k Factor) int64 {
	if s := f.Of(k); s != nil {
		return s.NS
	}
	return 0
}

// PartNS is the time of a part, 0 where its factor cannot be computed.
func (f *Factors) PartNS(p Part) int64 {
	if s := f.Of(FactorOf(p.Info().Factor)); s != nil {
		return s.Of(p)
	}
	return 0
}

// InsideNS is the part of O that was taken from CFs that ran, 0 where O cannot be computed.
func (f *Factors) InsideNS() (ns int64) {
	for _, p := range FactorO.Parts() {
		if p.Info().Inside {
			ns += f.PartNS(p)
		}
	}
	return ns
}

// share gives the place of the share of a factor but U.
func (f *Factors) share(k Factor) **Share {
	return [FactorLoss]**Share{FactorS: &f.S, FactorL: &f.L, FactorO: &f.O, FactorW: &f.W}[k]
}

// Times are times by factor, in nanoseconds.
type Times [FactorLoss]int64

// MarshalJSON writes an object with all factors.
func (t Times) MarshalJSON() ([]byte, error) { return object(t[:], allFactors) }

// object writes an object with the times of some factors.
func object(ns []int64, of []Factor) ([]byte, error) {
	b := []byte{'{'}
	for i, f := range of {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(fmt.Appendf(b, "%q:", f), ns[f], 10)
	}
	return append(b, '}'), nil
}

// Lost are times without U, which is 0.
type Lost [FactorLoss]int64

// MarshalJSON writes an object with all factors but U.
func (t Lost) MarshalJSON() ([]byte, error) { return object(t[:], LostFactors) }

// NS is the sum of all.
func (t *Lost) NS() (ns int64) {
	for _, v := range t {
		ns += v
	}
	return ns
}

// Caused is the time lost because of a code fragment, by the factors that the rule divides: S and L while
// others waited for what it produced, O while its own CFs waited to be run.
type Caused [FactorLoss]int64

// MarshalJSON writes an object with the factors that the rule divides.
func (t Caused) MarshalJSON() ([]byte, error) { return object(t[:], CausedFactors) }

// Factors of which some tables have a part only: what is lost, and what a code fragment can cause.
var (
	allFactors = func() (list []Factor) {
		for f := range FactorLoss {
			list = append(list, f)
		}
		return list
	}()
	LostFactors   = allFactors[1:]
	CausedFactors = slices.DeleteFunc(slices.Clone(LostFactors), func(f Factor) bool { return f.Info().CutOut })
)
