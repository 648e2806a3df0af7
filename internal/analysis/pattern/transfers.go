package pattern

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// countTransfers counts one-sided transfers by call path, and finds runs of those that block, of own threads.
func (s *search) countTransfers() {
	s.transfers = map[int32]*Transfer{}
	for i := range s.r.Threads {
		if s.own[i] {
			s.threadTransfers(i)
		}
	}
}

func (s *search) transferList() []Transfer {
	out := make([]Transfer, 0, len(s.transfers))
	for _, t := range s.transfers {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(x, y Transfer) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Call, y.Call))
	})
	return out
}

func (s *search) transferOf(call int32) *Transfer {
	t := s.transfers[call]
	if t == nil {
		t = &Transfer{Call: int(call)}
		s.transfers[call] = t
	}
	return t
}

func (s *search) threadTransfers(i int) {
	t, of, class := &s.r.Threads[i], s.of[i], s.class[i]
	program := uint8(s.f.index["program"])
	var run struct {
		visit        int32 // the last one
		call         int32
		count        int
		sum, longest int64
	}
	end := func() {
		if run.count > 1 {
			o := s.transferOf(run.call)
			o.Runs, o.OverlapNS = o.Runs+1, o.OverlapNS+run.sum-run.longest
		}
		run.count = 0
	}
	for k := range t.Transfers {
		x := &t.Transfers[k]
		if x.Visit < 0 || x.Number != 0 || x.Kind == model.TransferAtomic {
			continue
		}
		call, ns := of[x.Visit], ownTime(t, int(x.Visit), t.Enter[x.Visit], t.Exit[x.Visit])
		o := s.transferOf(call)
		o.Count++
		o.Bytes += x.Bytes
		if run.count > 0 && run.visit == x.Visit {
			continue // two of one operation, as in a copy from another thread to a third one
		}
		o.NS += ns
		if int(x.Peer) == t.Node {
			end()
			continue
		}
		follows := run.count > 0 && run.call == call
		for v := run.visit + 1; follows && v < x.Visit; v++ {
			follows = class[v] == program
		}
		if !follows {
			end()
			run.sum, run.longest, run.call = 0, 0, call
		}
		run.visit, run.count, run.sum, run.longest = x.Visit, run.count+1, run.sum+ns, max(run.longest, ns)
	}
	end()
}
