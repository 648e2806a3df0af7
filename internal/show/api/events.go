package api

import (
	"net/http"
	"strings"

	"github.com/whyslow/whyslow/internal/show/view/eventlist"
)

// events gives the list of events, and what a question asks of it.
func (q *question) events() (list *eventlist.List, e eventlist.Query, err error) {
	e = eventlist.Query{
		Offset: int(q.number("offset", 0, 1<<40, 0)), Limit: int(q.number("limit", 1, eventlist.MaxLimit, 100)),
		Nodes: q.numbers("nodes", 1<<16-1), Link: q.text("link", 64), Code: int(q.number("code", 0, 1<<30, 0)),
		CF: q.text("cf", 64), DF: q.text("df", 64), Text: q.text("text", 500), Lang: q.lang(),
		T: q.moment("t"), From: q.moment("from"), To: q.moment("to"),
	}
	if kinds := q.text("kinds", 4000); kinds != "" {
		e.Kinds = strings.Split(kinds, ",")
	}
	if q.err != nil {
		return nil, e, q.err
	}
	s, err := q.whole()
	if err == nil {
		list, err = s.Events()
	}
	return list, e, err
}

func askEvents(q *question) (any, error) {
	list, e, err := q.events()
	if err != nil {
		return nil, err
	}
	return list.Page(q.ctx, e)
}

// eventsCSV writes the list as a table of any length.
func (s *Server) eventsCSV(w http.ResponseWriter, r *http.Request) {
	s.long(w, r, func(q *question, w *longAnswer) error {
		list, e, err := q.events()
		if err != nil {
			return err
		}
		download(w, "text/csv; charset=utf-8", "events.csv")
		return list.CSV(q.ctx, w, e)
	})
}
