package prof

import (
	"strconv"

	"github.com/whyslow/whyslow/trace"
)

// Site tells what a statement of the program is, for those who show events to people.
type Site struct {
	Code      string         // name of the code fragment it runs
	Kind      trace.CodeKind // of the code fragment
	Label     string         // name of its label, without indices; "" for none
	File      string
	Line, Col int    // from 1; 0: unknown
	Text      string // as it stands in the source
}

// Describer knows what the numbers in events stand for. Its methods may be called from many goroutines, and
// during an event's handlers only: what is given up afterwards may be forgotten.
type Describer interface {
	Site(node int, s trace.Site) Site
	// DF is its name and identity: the name's creating node and number, then the indices. nil: unknown.
	DF(node int, df trace.DF) (name string, identity []int64)
	Name(node int, n trace.Name) string
}

// numbers is the describer of a session that knows nothing.
type numbers struct{}

func (numbers) Site(_ int, s trace.Site) Site      { return Site{Code: number(uint64(s))} }
func (numbers) DF(int, trace.DF) (string, []int64) { return "", nil }
func (numbers) Name(_ int, n trace.Name) string    { return number(uint64(n)) }
func number(n uint64) string                       { return "#" + strconv.FormatUint(n, 10) }

// SetDescriber says who knows the program whose events the session has.
func (s *Session) SetDescriber(d Describer) { s.describer.Store(&d) }

// Describe returns the describer, one that gives numbers as "#12" if none was set.
func (s *Session) Describe() Describer {
	if d := s.describer.Load(); d != nil && *d != nil {
		return *d
	}
	return numbers{}
}

// DFText is a DF as people read it, "grid[7][3]"; "#12" if d does not know it, "-" for none.
func DFText(d Describer, node int, df trace.DF) string { return string(appendDF(nil, d, node, df)) }

func appendDF(dst []byte, d Describer, node int, df trace.DF) []byte {
	if df == 0 {
		return append(dst, '-')
	}
	name, identity := d.DF(node, df)
	if len(identity) < 2 {
		return append(dst, number(uint64(df))...)
	}
	dst = append(dst, name...)
	for _, i := range identity[2:] {
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, i, 10)
		dst = append(dst, ']')
	}
	return dst
}
