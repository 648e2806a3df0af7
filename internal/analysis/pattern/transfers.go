package pattern

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// countTransfers counts one-sided transfers by call path, and finds runs of those that block, of own threads.
func (s *search) countTransfers() {
	s.transfers = map[int32]Transfer{}
	for i := range s.r.Threads {
		if s.own[i] {
			s.threadTransfers(i)
		}
	}
}

func (s *search) transferList() []Transfer {
	out := make([]Transfer, 0, len(s.transfers))
	for call, t := range s.transfers {
		t.Call = int(call)
		out = append(out, t)
	}
	slices.SortFunc(out, func(x, y Transfer) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Call, y.Call))
	})
	return out
}

// plus adds up what is known of the transfers at a call path.
func (t Transfer) plus(o Transfer) Transfer {
	return Transfer{t.Call, t.Count + o.Count, t.Bytes + o.Bytes, t.NS + o.NS, t.Runs + o.Runs,
		t.OverlapNS + o.OverlapNS}
}

func (s *search) threadTransfers(i int) {
	t, of, class := &s.r.Threads[i], s.of[i], s.class[i]
	program := uint8(s.f.program)
	var run struct {
		visit        int32 // the last one
		call         int32
		count        int
		sum, longest int64
	}
	end := func() {
		if run.count > 1 {
			s.transfers[run.call] = s.transfers[run.call].plus(Transfer{Runs: 1, OverlapNS: run.sum - run.longest})
		}
		run.count = 0
	}
	for k := range t.Transfers {
		x := &t.Transfers[k]
		if x.Visit < 0 || x.Number != 0 || x.Kind == model.TransferAtomic {
			continue
		}
		call, ns := of[x.Visit], ownTime(t, int(x.Visit), t.Enter[x.Visit], t.Exit[x.Visit])
		same := run.count > 0 && run.visit == x.Visit // as in a copy from another thread to a third one
		o := Transfer{Count: 1, Bytes: x.Bytes, NS: ns}
		if same {
			o.NS = 0
		}
		s.transfers[call] = s.transfers[call].plus(o)
		if same {
			continue
		}
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
