package recording

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// ranked is a world that has a group only.
type ranked struct {
	crew.World
	g procs.Group
}

func (r ranked) Rank() int          { return r.g.Rank() }
func (r ranked) Size() int          { return r.g.Size() }
func (r ranked) Group() procs.Group { return r.g }

// Where rank 0 cannot gather a part, all parts stay where they are, and the error names them.
func TestPartsThatCannotBeGathered(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "t.trace")
	if err := os.MkdirAll(filepath.Join(folder, tracefile.FileName(1)), 0o777); err != nil { // in the way
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	gather := func(g procs.Group) {
		p := &Recording{crew: &crew.Crew{World: ranked{g: g}}, folder: folder,
			local: filepath.Join(root, fmt.Sprint(g.Rank()))}
		p.info.Nodes = []trace.NodeInfo{{Node: 0, Part: "h:" + filepath.Join(root, "0")},
			{Node: 1, Part: "h:" + filepath.Join(root, "1")}}
		file := filepath.Join(p.local, tracefile.FileName(g.Rank()))
		if err := errors.Join(os.Mkdir(p.local, 0o777), os.WriteFile(file, []byte("blocks"), 0o666)); err != nil {
			t.Error(err)
		}
		err := p.gatherParts()
		if err == nil || g.Rank() == 0 && !strings.Contains(err.Error(), "they are in h:"+root+"/0, h:"+root+"/1") {
			t.Errorf("rank %d: %v", g.Rank(), err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	for _, g := range grouptest.Local(2) {
		wg.Go(func() { gather(g) })
	}
	wg.Wait()
}
