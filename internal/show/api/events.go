package api

import (
	"net/http"
	"strings"

	"github.com/whyslow/whyslow/internal/show/view/eventlist"
)

// eventQuery reads the parameters of a question about events.
func (q *question) eventQuery() eventlist.Query {
	e := eventlist.Query{
		Offset: int(q.number("offset", 0, 1<<40, 0)), Limit: int(q.number("limit", 1, eventlist.MaxLimit, 100)),
		Nodes: q.numbers("nodes", 1<<16-1), Link: q.text("link", 64), Code: int(q.number("code", 0, 1<<30, 0)),
		CF: q.text("cf", 64), DF: q.text("df", 64), Text: q.text("text", 500), Lang: q.lang(),
		T: q.moment("t"), From: q.moment("from"), To: q.moment("to"),
	}
	if kinds := q.text("kinds", 4000); kinds != "" {
		e.Kinds = strings.Split(kinds, ",")
	}
	return e
}

func askEvents(q *question) (any, error) {
	e := q.eventQuery()
	if q.err != nil {
		return nil, q.err
	}
	s, err := q.snapshot()
	if err != nil {
		return nil, err
	}
	list, err := s.Events()
	if err != nil {
		return nil, err
	}
	return list.Page(q.ctx, e)
}

// eventsCSV writes the list as a table of any length.
func (s *Server) eventsCSV(w http.ResponseWriter, r *http.Request) {
	s.long(w, r, func(q *question, w *longAnswer) error {
		e := q.eventQuery()
		if q.err != nil {
			return q.err
		}
		snap, err := q.snapshot()
		if err != nil {
			return err
		}
		list, err := snap.Events()
		if err != nil {
			return err
		}
		download(w, "text/csv; charset=utf-8", "events.csv")
		return list.CSV(q.ctx, w, e)
	})
}
