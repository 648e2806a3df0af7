package tables

import (
	"context"
	"math"

	"github.com/whyslow/whyslow/internal/model"
)

// aDF is a row of dfs, with the last of its creations, -1 for none.
type aDF struct {
	*model.Model
	df   model.DF
	made int
	s    *Source
}

// made is a field of the last creation.
func made(get func(r aDF) Value) func(r aDF) Value {
	return func(r aDF) Value {
		if r.made < 0 {
			return Value{}
		}
		return get(r)
	}
}

var dfs = define("dfs", "A data fragment (DF): a piece of data that tasks read and make.",
	func(_ context.Context, s *Source) (func(i int) aDF, int, error) {
		return func(i int) aDF {
			made, ok := s.Model.Creation(model.DF(i+1), math.MaxInt64)
			if !ok {
				made = -1
			}
			return aDF{s.Model, model.DF(i + 1), made, s}
		}, max(s.Model.DFs()-1, 0), nil
	},
	integer("df", "its number in these tables, from 1", func(r aDF) Value { return Int(int64(r.df)) }).key(),
	text("name", "its name with indices: x[3][0]", func(r aDF) Value { return String(r.DFString(r.df)) }),
	text("variable", "its name without indices: x", func(r aDF) Value { return String(r.DFNameOf(r.df)) }),
	integer("creations", "how often it got a value", func(r aDF) Value {
		first, end := r.Creations(r.df)
		return Int(int64(end - first))
	}),
	ns("created_ns", "when it got its last value; null: not recorded", made(func(r aDF) Value {
		return since(r.Model, r.MadeTime[r.made])
	})),
	integer("cf", "the CF that made that value; null: not recorded", made(func(r aDF) Value {
		return r.s.cf(r.MadeBy[r.made])
	})).to("cfs.cf"),
	integer("node", "where it was made; null: not recorded", made(func(r aDF) Value {
		return Int(int64(r.MadeNode[r.made]))
	})).to("nodes.node"),
	size("bytes", "size of that value; null: not recorded", made(func(r aDF) Value {
		return Int(r.SizeMade(r.made))
	})),
)

var creations = define("creations", "A DF got a value. Most get one; a DF may be made again after its end.",
	columns(func(m *model.Model) int { return len(m.MadeTime) }),
	integer("creation", "its number in these tables, from 1", func(r at) Value {
		return Int(int64(r.i) + 1)
	}).key(),
	integer("df", "the DF", func(r at) Value { return Int(int64(r.DFMade(uint32(r.i)))) }).to("dfs.df"),
	integer("cf", "the CF that made it; null: not known", func(r at) Value {
		return r.s.cf(r.MadeBy[r.i])
	}).to("cfs.cf"),
	integer("node", "where", func(r at) Value { return Int(int64(r.MadeNode[r.i])) }).to("nodes.node"),
	ns("time_ns", "when", func(r at) Value { return since(r.Model, r.MadeTime[r.i]) }),
	size("bytes", "its size", func(r at) Value { return Int(r.SizeMade(r.i)) }),
)

// Kinds of messages.
const (
	kindDF      = "df"
	kindRequest = "request"
	kindCF      = "cf"
)

// aMessage is a row of messages.
type aMessage struct {
	*model.Message
	s      *Source
	row    int
	kind   string
	answer uint32 // the number of the request it answers, 0 for none
}

var messages = define("messages", "The way of a DF, a request for one, or a CF from node to node.",
	func(_ context.Context, s *Source) (func(i int) aMessage, int, error) {
		n, all := s.numbers(), lists(s.Model)
		requests := uint32(len(all[0]))
		moves := requests + uint32(len(all[1]))
		return func(i int) aMessage {
			switch k := n.rows[i]; {
			case k >= moves:
				return aMessage{&all[2][k-moves], s, i, kindCF, 0}
			case k >= requests:
				return aMessage{&all[1][k-requests], s, i, kindRequest, 0}
			default:
				r := aMessage{&all[0][k], s, i, kindDF, 0}
				if r.Request > 0 {
					r.answer = n.rowOf[requests+r.Request]
				}
				return r
			}
		}, len(n.rows), nil
	},
	integer("message", "its number in these tables, from 1, by kind and time", func(r aMessage) Value {
		return Int(int64(r.row) + 1)
	}).key(),
	text("kind", "what was sent: df, request or cf", func(r aMessage) Value { return String(r.kind) }),
	integer("from_node", "the sender", func(r aMessage) Value { return natural(r.From) }).to("nodes.node"),
	integer("to_node", "the receiver", func(r aMessage) Value { return natural(r.To) }).to("nodes.node"),
	ns("sent_ns", "when it was sent; null: not recorded", func(r aMessage) Value {
		return since(r.s.Model, r.Sent)
	}),
	ns("received_ns", "when it arrived; null: not recorded", func(r aMessage) Value {
		return since(r.s.Model, r.Received)
	}),
	ns("flight_ns", "how long it was in flight; null: an end was not recorded", func(r aMessage) Value {
		return between(r.Sent, r.Received)
	}),
	size("bytes", "bytes sent", func(r aMessage) Value { return Int(r.Bytes) }),
	integer("df", "the DF that was sent or asked for; null: none", func(r aMessage) Value {
		return positive(r.DF)
	}).to("dfs.df"),
	integer("cf", "the CF that was sent, or that it is for; null: none", func(r aMessage) Value {
		return r.s.cf(r.CF)
	}).to("cfs.cf"),
	integer("request", "of a df: the request it answers; null: none", func(r aMessage) Value {
		return positive(r.answer)
	}).to("messages.message"),
	integer("stolen", "of a cf: 1 if an idle node took it", func(r aMessage) Value {
		if r.kind != kindCF {
			return Value{}
		}
		return truth(r.Stolen)
	}),
)
