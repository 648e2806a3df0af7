package api

import (
	"context"
	"errors"
	"time"

	"github.com/whyslow/whyslow/internal/show/sql"
	"github.com/whyslow/whyslow/internal/show/tables"
)

// Bounds of a query, beside that of answerTime for everything.
const (
	queryTime   = 30 * time.Second
	queryMemory = 128 << 20
	queryText   = 64 << 10 // bytes of the query
	queryRows   = 10_000   // of all results together
	queryBytes  = 8 << 20  // of their texts
)

// sqlTables is what can be asked in SQL about any run.
type sqlTables struct {
	Tables  []tables.Listed `json:"tables"`
	Queries []sql.Query     `json:"queries"`
}

func aboutSQL() sqlTables { return sqlTables{tables.List(), sql.Queries} }

// sqlAnswer is what a text of SQL found, up to the first mistake in it.
type sqlAnswer struct {
	Results []*sql.Result `json:"results"`
	Mistake *sqlMistake   `json:"mistake"`
	MS      float64       `json:"ms"` // how long it took
}

type sqlMistake struct {
	Line   int    `json:"line"` // from 1; 0: nowhere
	Column int    `json:"column"`
	Text   string `json:"text"`
}

func askSQL(q *question) (any, error) {
	text, rows := q.text("q", queryText), int(q.number("limit", 1, queryRows, 1000))
	if q.err != nil {
		return nil, q.err
	}
	s, err := q.reported()
	if err != nil {
		return nil, err
	}
	out := sqlAnswer{Results: []*sql.Result{}}
	err = s.Do(q.ctx, queryMemory, func(ctx context.Context) error {
		begun := time.Now()
		found, err := runSQL(ctx, s.Tables(), text, rows)
		out.MS = float64(time.Since(begun).Microseconds()) / 1e3
		out.Results = append(out.Results, found...)
		return err
	})
	if mistake := (*sql.Error)(nil); errors.As(err, &mistake) {
		out.Mistake = &sqlMistake{mistake.Line, mistake.Column, mistake.Msg}
		err = nil
	}
	return out, err
}

// runSQL runs a text. What a query must not do is an *sql.Error; so is a query that takes too long.
func runSQL(ctx context.Context, source *tables.Source, text string, rows int) ([]*sql.Result, error) {
	tooLong := &sql.Error{Msg: "the query takes longer than " + queryTime.String() + ", and was ended"}
	ctx, cancel := context.WithTimeoutCause(ctx, queryTime, tooLong)
	defer cancel()
	db, err := sql.Open(ctx, source, queryMemory)
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	results := sql.Results{MostRows: rows, MostBytes: queryBytes}
	err = db.Run(ctx, text, &results)
	if err != nil && errors.Is(context.Cause(ctx), tooLong) {
		err = tooLong
	}
	return results.List, err
}
