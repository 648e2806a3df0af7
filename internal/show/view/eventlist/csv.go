package eventlist

import (
	"bufio"
	"context"
	"encoding/csv"
	"io"
	"strconv"

	"github.com/whyslow/whyslow/internal/words"
)

// CSV writes all events of a query as a table, ignoring its Offset, T and Limit. The first row has the names
// of the columns. It scans the trace as far as needed before it writes, and holds little of it in memory.
func (l *List) CSV(ctx context.Context, out io.Writer, q Query) error {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s, err := l.choose(ctx, &q, 0)
	for err == nil && s.scanned < 1 { // somebody else's question has ended the job
		s, err = l.choose(ctx, &q, 0)
	}
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(out, 64<<10)
	w := csv.NewWriter(words.Foreign(buf))
	if err := w.Write([]string{"time_ns", "node", "stream", "event", "cf", "df", "text"}); err != nil {
		return err
	}
	if s.end > s.base {
		line := make([]string, 7)
		err = s.rows(ctx, 0, s.end-s.base, words.LangOf(q.Lang), func(r *EventRow) error {
			line[0], line[1], line[2] = strconv.FormatInt(r.T, 10), strconv.Itoa(r.Node), strconv.Itoa(r.Stream)
			line[3], line[4], line[5], line[6] = r.Kind, r.CF, r.DF, r.Text
			return w.Write(line)
		})
		if err != nil {
			return err
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return buf.Flush()
}
