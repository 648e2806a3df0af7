package sql

import (
	"embed"
	"path"
	"slices"
	"strings"
)

// Query is a query that comes with whyslow.
type Query struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // what it tells, a phrase
	Ru   string `json:"ru"`  // the same in Russian
	SQL  string `json:"sql"`
}

//go:embed queries
var files embed.FS

// Queries are those of the folder queries, by name: NAME.sql, whose first two lines are comments that say
// what it tells, in English and in Russian.
var Queries = func() (list []Query) {
	entries, err := files.ReadDir("queries")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		text, err := files.ReadFile(path.Join("queries", e.Name()))
		if err != nil {
			panic(err)
		}
		lines := strings.SplitN(string(text), "\n", 3)
		list = append(list, Query{strings.TrimSuffix(e.Name(), ".sql"), strings.TrimPrefix(lines[0], "-- "),
			strings.TrimPrefix(lines[1], "-- "), lines[2]})
	}
	return list
}()

// Find gives the query of a name.
func Find(name string) (Query, bool) {
	i := slices.IndexFunc(Queries, func(q Query) bool { return q.Name == name })
	if i < 0 {
		return Query{}, false
	}
	return Queries[i], true
}
