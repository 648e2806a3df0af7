package eventlist

import (
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/trace"
)

// findDF finds a DF's numbers in the files of the nodes, by its key: NODE:NUMBER in any of them.
func (l *List) findDF(key string) (map[int]trace.DF, error) {
	at, number, ok := strings.Cut(key, ":")
	a, err1 := strconv.ParseUint(at, 10, 16)
	b, err2 := strconv.ParseUint(number, 10, 32)
	if !ok || err1 != nil || err2 != nil {
		return nil, query.Bad("%q is no DF; DFs have keys like 0:17: node, number", key)
	}
	n := l.nodes[int(a)]
	if n == nil {
		return nil, query.Missing("there is no DF %s in this trace", key)
	}
	out := map[int]trace.DF{n.number: trace.DF(b)}
	_, identity, _ := n.defs.DF(trace.DF(b), nil)
	if len(identity) == 0 {
		return out, nil // not defined, so no other node can be known to have it
	}
	for _, other := range l.nodes {
		if other == n {
			continue
		}
		other.defs.EachDF(func(d trace.DF, _ trace.Name, theirs []int64) {
			if slices.Equal(identity, theirs) {
				out[other.number] = d
			}
		})
	}
	return out, nil
}

// dfKey returns the key of a DF by its number in a node's file, "" for none.
func (l *List) dfKey(node int, df uint64) string {
	if df == 0 {
		return ""
	}
	key := strconv.Itoa(node) + ":" + strconv.FormatUint(df, 10)
	if first := l.m.DFKey(l.m.FindDF(key)); first != "" {
		return first
	}
	return key
}
