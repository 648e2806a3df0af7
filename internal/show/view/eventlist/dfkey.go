package eventlist

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// wantedDF is a DF that is asked for: by its number in the model, and in the file of the node that its key
// names, since the model has no numbers for DFs that only rare events name.
type wantedDF struct {
	df     model.DF
	node   int
	number uint64
}

// findDF finds a DF by its key: NODE:NUMBER in the file of any node.
func (l *List) findDF(key string) (*wantedDF, error) {
	at, number, ok := strings.Cut(key, ":")
	a, err1 := strconv.ParseUint(at, 10, 16)
	b, err2 := strconv.ParseUint(number, 10, 32)
	if !ok || err1 != nil || err2 != nil {
		return nil, query.Bad("%q is not a DF; DFs have keys like 0:17: node, number", key)
	}
	if l.nodes[int(a)] == nil {
		return nil, query.Missing("there is no DF %s in this trace", key)
	}
	return &wantedDF{l.m.FindDF(key), int(a), b}, nil
}

// is reports whether a number in a node's file stands for the DF.
func (w *wantedDF) is(m *model.Model, node int, number uint64) bool {
	return number != 0 &&
		(node == w.node && number == w.number || w.df != 0 && m.DFNumbered(node, number) == w.df)
}

// dfKey returns the key of a DF by its number in a node's file, "" for none.
func (l *List) dfKey(node int, df uint64) string {
	if df == 0 {
		return ""
	}
	return cmp.Or(l.m.DFKey(l.m.DFNumbered(node, df)), strconv.Itoa(node)+":"+strconv.FormatUint(df, 10))
}
