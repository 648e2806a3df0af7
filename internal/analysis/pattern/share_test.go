package pattern

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sharetest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// shared is a search by several processes; the first gets everybody's pieces.
func shared(ctx context.Context, m *model.Model, g procs.Group) (*Result, error) {
	r, err := Compute(ctx, m, g)
	if err != nil || r == nil {
		return nil, err
	}
	type own struct {
		ID     model.WorkerID
		Pieces []Piece
	}
	var list []own
	for id, p := range r.pieces {
		list = append(list, own{id, p})
	}
	all, err := procs.AllOf(g, list)
	if err != nil || g.Rank() > 0 {
		return nil, err
	}
	r.pieces = map[model.WorkerID][]Piece{}
	for _, w := range slices.Concat(all...) {
		if _, twice := r.pieces[w.ID]; twice {
			return nil, fmt.Errorf("pieces of %v twice", w.ID)
		}
		r.pieces[w.ID] = w.Pieces
	}
	return r, nil
}

// same fails where several processes find something else than one; some of them may have nothing to read.
func same(t sloutest.TB, dir string) *Result {
	t.Helper()
	return sharetest.Same(t, dir, func(r *Result) string {
		if r == nil {
			return "nothing"
		}
		return sharetest.JSON(t, r) + rest(r)
	}, shared)
}

// TestShareRandom compares what several processes find in made-up programs, right and wrong, with what one
// finds.
func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var p *program
		if rapid.Bool().Draw(rt, "disorder") {
			p = drawDisorder(rt, 4)
		} else {
			p = drawProgram(rt)
		}
		text := strings.ReplaceAll(p.all(), "#site 9 ",
			"#site 50 code=8 label=\"lock 1 byte 8 call 2\" \"queue\"\n#site 9 ")
		switch rapid.IntRange(0, 5).Draw(rt, "fate") {
		case 0: // some events are missing
			var left strings.Builder
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "#") || rapid.IntRange(0, 9).Draw(rt, "keep") > 0 {
					left.WriteString(line)
				}
			}
			text = left.String()
		case 1: // some nodes have no regions
			text += fmt.Sprintf("#node %d\n3 Global.onProgramStarted\n30 Global.onProgramFinished\n", p.n)
			p.n++
		case 2: // CFs, too
			text += fmt.Sprintf("3 n%d s0 CF.onCreated cf=1.1\n4 n%d s0 CF.onStarted 1.1\n20 n%d s0 CF.onFinished "+
				"1.1\n", p.n-1, p.n-1, p.n-1)
		}
		if rapid.IntRange(0, 2).Draw(rt, "hosts") == 0 {
			text = sloutest.OnHosts(rt, text)
		}
		sloutest.Folder(rt, text, func(dir string) {
			same(fataler{rt, text}, dir)
		})
	})
}

func (f fataler) Fatal(args ...any) { f.T.Fatal(append(args, "\n"+f.text)...) }

// TestShareGolden does so with the runs in testdata.
func TestShareGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, text2, _ := strings.Cut(string(text), "-- trace --\n")
		text2, _, _ = strings.Cut(text2, "\n-- ")
		dir := t.TempDir()
		writeText(t, text2+"\n", dir)
		same(t, dir)
	}
}

// TestShareNeeds has what others must know of a thread beside its collectives, so that they come to the same.
func TestShareNeeds(t *testing.T) {
	head := func(node int) string {
		return fmt.Sprintf("#node %d\n#code 1 upc_barrier barrier\n#code 2 upc_memget bulk\n#code 3 "+
			"upc_all_broadcast collective\n#site 1 code=1\n#site 2 code=2\n#site 3 code=3\n", node)
	}
	barrier := func(from, to int) string {
		return fmt.Sprintf("%d Region.onEntered 1\n%[1]d Sync.onCollective barrier size=2\n%d Region.onExited 1\n",
			from, to)
	}
	for name, c := range map[string]struct{ trace, want string }{
		// An operation between a barrier and a collective.
		"between": {head(0) + barrier(0, 10) +
			"12 Region.onEntered 3\n12 Sync.onCollective broadcast size=2 root=0\n20 Region.onExited 3\n" +
			head(1) + barrier(0, 10) +
			"11 Region.onEntered 2\n12 Region.onExited 2\n13 Region.onEntered 3\n13 Sync.onCollective broadcast " +
			"size=2 root=0\n20 Region.onExited 3\n",
			"after barrier 0, between 0\n"},
		// Lost events, without which a barrier has no partner.
		"lost": {head(0) + barrier(0, 10) + barrier(20, 30) + barrier(40, 60) +
			head(1) + "#run {\"nodes\":[{\"node\":0,\"workers\":1},{\"node\":1,\"workers\":1}]}\n" + barrier(0, 10) +
			"12 Global.onLost count=3 first=12 last=35\n" + barrier(40, 60),
			"count 2, "},
	} {
		dir := t.TempDir()
		writeText(t, c.trace, dir)
		if got := rest(same(t, dir)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestShareInterrupted(t *testing.T) {
	dir := t.TempDir()
	writeText(t, "0 Region.onEntered 1\n1 Sync.onCollective barrier size=1\n2 Region.onExited 1\n", dir)
	sharetest.Interrupted(t, dir, func(ctx context.Context, m *model.Model, g procs.Group) (*Result, error) {
		return Compute(ctx, m, g)
	})
}
