package timeline

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// WaitQuery asks for the waits behind a reason or a cause. What is "" or nil fits every wait.
type WaitQuery struct {
	From, To           int64    // nanoseconds since the start of the run
	Factors, Parts     []string // letters; "dispatch", "0->1"
	Producer, Consumer string   // names of code fragments
	Code               string   // of either of the two
	DF, Link           string   // name; "0->1"
	Place              string   // "file:line" of the region that the thread was in
	Lanes              []int    // nil: all
	Limit              int      // 1 to 1000000; 0 means 1000
	Windows            int      // 1 to 20000
}

// Waits are pieces of workers' time, the longest first.
type Waits struct {
	From    int64   `json:"from"`
	To      int64   `json:"to"`
	Count   int     `json:"count"` // all that fit
	NS      int64   `json:"ns"`
	Windows []int64 `json:"windows"` // ns by window, all equally long but the last
	Rows    []Wait  `json:"rows"`    // the longest
}

// Wait is one of them, cut at the ends of the interval.
type Wait struct {
	Lane          int    `json:"lane"`
	From          int64  `json:"from"`
	To            int64  `json:"to"`
	Factor        string `json:"factor"`
	Part          string `json:"part"`
	Consumer      string `json:"consumer"`
	ConsumerTitle string `json:"consumer_title"`
	Producer      string `json:"producer"`
	ProducerTitle string `json:"producer_title"`
	DFTitle       string `json:"df_title"`
	Where         string `json:"where"` // the region it was in, "upc_barrier, b.upc:5"; "" for none
}

// Longest finds the waits that a query describes: first those that take most time.
func (t *Timeline) Longest(q WaitQuery) (*Waits, error) {
	if err := (stretch{q.From, q.To}).check(); err != nil {
		return nil, err
	}
	lanes, err := t.chosen(q.Lanes)
	if err != nil {
		return nil, err
	}
	most, err := limit(q.Limit, 1000)
	if err != nil {
		return nil, err
	}
	if q.Windows < 1 || q.Windows > maxWidth {
		return nil, query.Bad("windows=%d: must be 1 to %d", q.Windows, maxWidth)
	}
	f := t.fits(&q)
	out := &Waits{From: q.From, To: q.To, Windows: make([]int64, q.Windows), Rows: []Wait{}}
	length := (q.To-q.From-1)/int64(q.Windows) + 1
	var best []found
	from, to := max(q.From, 0), min(q.To, t.Wall())
	for _, n := range lanes {
		l := &t.lanes[n]
		for i := l.find(from, 0); i < len(l.end) && l.from(i) < to; i++ {
			if !f.piece(l, i) || q.Place != "" && t.placeAt(n, l.from(i)) != q.Place {
				continue
			}
			w := found{n, i, i, max(l.from(i), from), min(l.end[i], to)}
			for w.last+1 < len(l.end) && w.to < to && l.same(i, w.last+1) { // one wait, cut somewhere
				w.last++
				w.to = min(l.end[w.last], to)
			}
			i = w.last
			out.Count++
			out.NS += w.to - w.from
			for a := w.from; a < w.to; {
				k := (a - q.From) / length
				b := min(q.From+(k+1)*length, w.to)
				out.Windows[k] += b - a
				a = b
			}
			if best = append(best, w); len(best) >= 2*most { // few are wanted of many
				best = longestOf(best, most)
			}
		}
	}
	best = longestOf(best, most)
	for _, w := range best {
		l, i := &t.lanes[w.lane], w.piece
		k := l.part[i] &^ inside
		out.Rows = append(out.Rows, Wait{w.lane, w.from, w.to, t.names[t.rows[k]], t.parts[k].String(),
			t.CFKey(l.consumer[i]), t.m.CFTitle(l.consumer[i]), t.CFKey(l.producer[i]), t.m.CFTitle(l.producer[i]),
			t.m.DFString(l.df[i]), t.regionAt(w.lane, l.from(i))})
	}
	return out, nil
}

// same tells whether a piece is of the same wait as its neighbour.
func (l *lane) same(a, b int) bool {
	return l.part[a] == l.part[b] && l.consumer[a] == l.consumer[b] && l.producer[a] == l.producer[b] &&
		l.df[a] == l.df[b]
}

// fitting are the pieces that a query describes.
type fitting struct {
	t      *Timeline
	parts  []bool // by part
	of, by []bool // by code fragment; nil: all
	either []bool
	df     string
}

func (t *Timeline) fits(q *WaitQuery) *fitting {
	f := &fitting{t: t, df: q.DF}
	for k := range t.parts {
		p, row := &t.parts[k], int(t.rows[k])
		f.parts = append(f.parts, row < len(t.names) && row != 0 &&
			(len(q.Factors) == 0 || slices.Contains(q.Factors, t.names[row])) &&
			(len(q.Parts) == 0 || slices.Contains(q.Parts, p.String())) &&
			(q.Link == "" || p.link.String() == q.Link))
	}
	codes := func(name string) (list []bool) {
		for i := 0; name != "" && i < len(t.m.Codes); i++ {
			list = append(list, t.m.Codes[i].Name == name)
		}
		return list
	}
	f.by, f.of, f.either = codes(q.Producer), codes(q.Consumer), codes(q.Code)
	return f
}

func (f *fitting) piece(l *lane, i int) bool {
	is := func(list []bool, cf model.CF) bool { return cf != 0 && list[f.t.m.CodeOf(cf)] }
	return f.parts[l.part[i]&^inside] && (f.by == nil || is(f.by, l.producer[i])) &&
		(f.of == nil || is(f.of, l.consumer[i])) &&
		(f.either == nil || is(f.either, l.producer[i]) || is(f.either, l.consumer[i])) &&
		(f.df == "" || f.t.m.Names[f.t.m.DFName[l.df[i]]] == f.df)
}

// found is a wait: the pieces of a lane from piece to last.
type found struct {
	lane, piece, last int
	from, to          int64
}

// longestOf keeps so many of a list, the longest first. Of equals the earlier one comes first.
func longestOf(list []found, most int) []found {
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.to-b.from, a.to-a.from), cmp.Compare(a.from, b.from),
			cmp.Compare(a.lane, b.lane))
	})
	return list[:min(len(list), most)]
}
