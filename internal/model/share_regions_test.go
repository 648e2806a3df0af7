package model_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// regionsText has two nodes: each calls a barrier from a function, with another function inside of it, after
// a transfer from nobody's memory.
func regionsText() (text string) {
	for n := range 2 {
		text += fmt.Sprintf("#node %d\n#code 1 main function\n#code 2 upc_barrier barrier\n#code 3 upc_memget bulk\n#site 1 code=1\n#site 2 code=2 \"/bin/p+0x10\"\n#site 3 code=3\n", n) + `
0 Region.onEntered 1
1 Region.onEntered 3
1 Message.onGet from=0 bytes=4
2 Region.onExited 3
3 Region.onEntered 3
4 Region.onExited 3
5 Region.onEntered 1
6 Region.onExited 1
7 Region.onEntered 2
7 Sync.onCollective barrier size=2
7 Region.onEntered 1
8 Region.onExited 1
9 Region.onExited 2
9 Region.onEntered 1
10 Region.onExited 1
11 Region.onExited 1
`
	}
	return text
}

// Of threads of others there are the collectives with the visits around and inside of them, and the operation
// before each.
func TestShareRegions(t *testing.T) {
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(regionsText()), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := sloutest.Share(dir, 2, model.Options{}, func(m *model.Model, g procs.Group) (*int, error) {
		r := m.Regions
		own, other := &r.Threads[g.Rank()], &r.Threads[1-g.Rank()]
		if len(r.Threads) != 2 || len(r.Instances) != 1 || r.Unmatched > 0 {
			return nil, fmt.Errorf("%+v", r)
		}
		if len(own.Enter) != 7 || len(own.Transfers) != 1 {
			return nil, fmt.Errorf("own: %+v", own)
		}
		if d := cmp.Diff([][]int64{{0, 3, 7, 7}, {11, 4, 9, 8}}, [][]int64{other.Enter, other.Exit}); d != "" ||
			!slices.Equal(other.Parent, []int32{-1, 0, 0, 2}) || len(other.Transfers) != 0 {
			return nil, fmt.Errorf("shadow: %+v\n%s", other, d)
		}
		if c := other.Collectives[0]; c.Visit != 2 || c.Instance != 0 {
			return nil, fmt.Errorf("shadow: %+v", c)
		}
		return nil, nil
	}); err != nil {
		t.Error(err)
	}
}

// Addresses are looked up by one process for all, and what is wrong with the table is said once.
func TestSharePlaces(t *testing.T) {
	for name, test := range map[string]struct {
		table string
		file  string
		wrong int
	}{
		"good":    {`{"/bin/p+0x10":{"function":"solve","file":"/src/p.c","line":7}}`, "/src/p.c", 0},
		"damaged": {`{"/bin/p+0x10":`, "p+0x10", 1},
	} {
		dir := t.TempDir()
		if err := twin.Parse(strings.NewReader(regionsText()), dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "symbols.json"), []byte(test.table), 0o666); err != nil {
			t.Fatal(err)
		}
		want := sloutest.Load(t, dir).Unread()
		if len(want) < test.wrong {
			t.Fatal(name, want)
		}
		if _, err := sloutest.Share(dir, 3, model.Options{}, func(m *model.Model, _ procs.Group) (*int, error) {
			if !slices.ContainsFunc(m.Sites, func(s model.Site) bool { return s.File == test.file }) {
				return nil, fmt.Errorf("sites: %+v", m.Sites)
			}
			if d := cmp.Diff(want, m.Unread()); d != "" {
				return nil, fmt.Errorf("problems: %s", d)
			}
			return nil, nil
		}); err != nil {
			t.Error(name, err)
		}
	}
}
