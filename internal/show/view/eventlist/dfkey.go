package eventlist

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model/query"
)

// findDF finds a DF by its key, NODE:NUMBER in the file of any node. It gives its numbers in all of them.
func (l *List) findDF(key string) ([][]uint64, error) {
	at, number, ok := strings.Cut(key, ":")
	a, err1 := strconv.ParseUint(at, 10, 16)
	b, err2 := strconv.ParseUint(number, 10, 32)
	if !ok || err1 != nil || err2 != nil {
		return nil, query.Bad("%q is not a DF; DFs have keys like 0:17: node, number", key)
	}
	if l.nodes[int(a)] == nil {
		return nil, query.Missing("there is no DF %s in this trace", key)
	}
	numbers := make([][]uint64, len(l.m.Nodes))
	if df := l.m.FindDF(key); df != 0 {
		for node := range numbers {
			numbers[node] = l.m.DFNumbers(node, df)
		}
	}
	if b != 0 && !slices.Contains(numbers[a], b) { // the model has no numbers for DFs that only rare events name
		numbers[a] = append(numbers[a], b)
	}
	return numbers, nil
}

// dfKey returns the key of a DF by its number in a node's file, "" for none.
func (l *List) dfKey(node int, df uint64) string {
	if df == 0 {
		return ""
	}
	return cmp.Or(l.m.DFKey(l.m.DFNumbered(node, df)), strconv.Itoa(node)+":"+strconv.FormatUint(df, 10))
}
