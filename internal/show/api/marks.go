package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// Marks are moments and intervals that people have noted, with a text. They are kept in the folder of the
// trace, so whoever gets the trace has them too. Their times are those of events: they stay right where a
// part of a run begins later than the run.

// marksFile is their file in the folder of a trace.
const marksFile = "marks.json"

const (
	maxMarks    = 10_000
	maxMarkText = 2000 // bytes
)

// mark is one of them. Times are nanoseconds since the start of the run, in the file as those of events.
type mark struct {
	Key  string `json:"key"`
	From int64  `json:"from"`
	To   int64  `json:"to"` // as from: a moment
	Text string `json:"text"`
}

var markKey = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

// marksLock is held while the file of any run is changed.
var marksLock sync.Mutex

// readMarks gives the marks of a trace, in order of time.
func readMarks(dir string) (list []mark, err error) {
	f, err := files.Open(filepath.Join(dir, marksFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMarks*(2*maxMarkText+100)))
	if err == nil {
		list, err = parseMarks(text)
	}
	if err != nil {
		return nil, query.Bad("%s in the folder of the trace: %v", marksFile, err)
	}
	return list, nil
}

// parseMarks reads the text of a file of marks. Somebody may have written it by hand.
func parseMarks(text []byte) (list []mark, err error) {
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	if len(list) > maxMarks {
		return nil, fmt.Errorf("there are more than %d marks", maxMarks)
	}
	seen := map[string]bool{}
	for _, m := range list {
		if err := m.check(); err != nil {
			return nil, err
		}
		if seen[m.Key] {
			return nil, fmt.Errorf("two marks have the key %q", m.Key)
		}
		seen[m.Key] = true
	}
	slices.SortFunc(list, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Key, b.Key))
	})
	return list, nil
}

func (m *mark) check() error {
	switch {
	case !markKey.MatchString(m.Key):
		return query.Bad("%q is no key of a mark: use 1 to 32 letters a to z and digits", m.Key)
	case m.To < m.From:
		return query.Bad("the mark %s ends before it begins", m.Key)
	case len(m.Text) > maxMarkText || !utf8.ValidString(m.Text):
		return query.Bad("the text of mark %s is longer than %d bytes, or none", m.Key, maxMarkText)
	}
	return nil
}

func writeMarks(dir string, list []mark) error {
	path := filepath.Join(dir, marksFile)
	if len(list) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return files.ReplaceText(path, append(text, '\n'))
}

// askMarks gives the marks of a run.
func askMarks(q *question) (any, error) {
	start, err := q.start()
	if err != nil {
		return nil, err
	}
	marksLock.Lock()
	defer marksLock.Unlock()
	list, err := readMarks(q.run.Dir())
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].From, list[i].To = list[i].From-start, list[i].To-start
	}
	return append([]mark{}, list...), nil
}

// start is when the run started, in the time of events.
func (q *question) start() (int64, error) {
	s, err := q.snapshot()
	if err != nil {
		return 0, err
	}
	return s.Model.Start, nil
}

// putMark keeps a mark; deleteMark forgets it. The path has its key, so doing either again changes nothing.
func (s *Server) putMark(w http.ResponseWriter, r *http.Request) {
	var m mark
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2*maxMarkText+1000))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "this is no mark: "+err.Error())
		return
	}
	m.Key = r.PathValue("key")
	s.changeMarks(w, r, func(list []mark, start int64) ([]mark, error) {
		if m.From < -timeLimit || m.To > timeLimit {
			return nil, query.Bad("a mark at %d ns: that is too far from the run", m.From)
		}
		m.From, m.To = m.From+start, m.To+start
		if err := m.check(); err != nil {
			return nil, err
		}
		list = without(list, m.Key)
		if len(list) == maxMarks {
			return nil, query.Bad("a run has at most %d marks", maxMarks)
		}
		return append(list, m), nil
	})
}

func (s *Server) deleteMark(w http.ResponseWriter, r *http.Request) {
	s.changeMarks(w, r, func(list []mark, _ int64) ([]mark, error) {
		return without(list, r.PathValue("key")), nil
	})
}

func without(list []mark, key string) []mark {
	return slices.DeleteFunc(list, func(m mark) bool { return m.Key == key })
}

func (s *Server) changeMarks(w http.ResponseWriter, r *http.Request,
	change func(list []mark, start int64) ([]mark, error)) {
	run := s.runOf(w, r)
	if run == nil {
		return
	}
	q := &question{params: newParams(r), ctx: r.Context(), run: run}
	defer q.release()
	start, err := q.start()
	if err == nil {
		err = changeMarksOf(run.Dir(), start, change)
	}
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		fail(w, http.StatusForbidden, fmt.Sprintf("marks are kept in the folder of the trace, and %s cannot be "+
			"written: copy the trace", run.Dir()))
	default:
		s.failed(w, r, err)
	}
}

func changeMarksOf(dir string, start int64, change func([]mark, int64) ([]mark, error)) error {
	marksLock.Lock()
	defer marksLock.Unlock()
	list, err := readMarks(dir)
	if err != nil {
		return err
	}
	if list, err = change(list, start); err != nil {
		return err
	}
	return writeMarks(dir, list)
}

// copyMarks writes the marks that lie in a part of a run into the folder of that part.
func copyMarks(from, to string, in model.Interval) error {
	list, err := readMarks(from)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m mark) bool { return m.To < in.From || m.From > in.To })
	return writeMarks(to, list)
}
