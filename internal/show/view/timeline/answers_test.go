package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// smallRun has two nodes, a message, a structured CF and a wait.
const smallRun = `#run {"ended":"done","nodes":[{"node":0,"workers":2},{"node":1,"workers":1}]}
#node 0
#code 1 main sub
#code 2 make atomic
#code 3 use atomic
#site 1 code=1
#site 2 code=2
#site 3 code=3 label=use
#df 1 x [0 1 3]
#node 1
#df 1 x [0 1 3]
0 n0 s0 Global.onProgramStarted
0 n0 s1 Global.onProgramStarted
0 n1 s0 Global.onProgramStarted
1 n0 s2 CF.onCreated 0.1 1
2 n0 s0 CF.onStarted 0.1
3 n0 s0 CF.onCreated cf=0.2 site=2 parent=0.1
4 n0 s0 CF.onCreated cf=0.3 site=3 parent=0.1 indices=[5]
5 n0 s0 CF.onFinished 0.1
6 n0 s2 CF.onReady 0.2
7 n0 s2 CF.onMigrated cf=0.3 to=1
9 n1 s1 CF.onReceived cf=0.3 from=0
10 n0 s1 CF.onStarted 0.2
12 n0 s1 Sync.onWaitStarted "lock"
14 n0 s1 Sync.onWaitEnded "lock"
20 n0 s1 DF.onCreate df=1 size=80 cf=0.2
20 n0 s1 CF.onFinished 0.2
22 n0 s2 DF.onSent df=1 to=1 bytes=90 message=0.1
30 n1 s1 DF.onReceived df=1 from=0 bytes=90 message=0.1
31 n1 s1 CF.onReady 0.3
33 n1 s0 CF.onStarted cf=0.3 inputs=[1]
40 n1 s0 CF.onFinished 0.3
50 n0 s0 Global.onProgramFinished
50 n0 s1 Global.onProgramFinished
50 n1 s0 Global.onProgramFinished
`

// What a page gets, member by member.
func TestAnswers(t *testing.T) {
	tl, _ := made(t, sloutest.Build(t, smallRun))
	for _, c := range []struct {
		name string
		ask  func() (any, error)
		want string
	}{
		{"boxes", func() (any, error) { return tl.Boxes(BoxQuery{From: 8, To: 34, Lanes: []int{1, 2}}) }, `{"from":8,"to":34,"more":0,
"cfs":{"lane":[1,2],"start":[10,33],"end":[20,40],"cf":["0.2","0.3"],"code":[2,3],"label":["make","use[5]"],"structured":[0,0],"running":[0,0],"class":[]},
"gaps":{"lane":[1,1,1,1,1,2,2,2,2,2,2],"start":[6,12,20,31,33,6,10,20,22,30,31],"end":[10,14,31,33,50,10,20,22,30,31,33],
"factor":["O","W","S","S","S","S","S","O","L","O","O"],
"part":["dispatch","lock","nowhere","elsewhere","nowhere","elsewhere","nowhere","send","0->1","deliver","dispatch"],
"consumer":["0.2","0.2","","","","0.3","0.3","0.3","0.3","0.3","0.3"],"producer":["","","0.3","0.3","0.3","0.2","0.2","","0.2","",""],
"df":["","","","","","0:1","0:1","","0:1","",""],
"consumer_title":["make","make","","","","use[5]","use[5]","use[5]","use[5]","use[5]","use[5]"],
"producer_title":["","","use[5]","use[5]","use[5]","make","make","","make","",""],"df_title":["","","","","","x[3]","x[3]","","x[3]","",""]}}`},
		{"too many boxes", func() (any, error) { return tl.Boxes(BoxQuery{From: 0, To: 50, Limit: 1}) }, `{"from":0,"to":50,"more":24,
"cfs":{"lane":[],"start":[],"end":[],"cf":[],"code":[],"label":[],"structured":[],"running":[],"class":[]},
"gaps":{"lane":[],"start":[],"end":[],"factor":[],"part":[],"consumer":[],"producer":[],"df":[],"consumer_title":[],"producer_title":[],"df_title":[]}}`},
		{"arrows", func() (any, error) { return tl.Arrows(ArrowQuery{From: 0, To: 50}) }, `{"more":0,"arrows":[
{"kind":"df","t0":22,"t1":30,"from_lane":1,"to_lane":2,"from_node":0,"to_node":1,"what":"x[3]","df":"0:1","bytes":90,"producer":"0.2","consumer":"0.3","link":"0->1","file":"","line":0},
{"kind":"cf","t0":7,"t1":9,"from_lane":-1,"to_lane":2,"from_node":0,"to_node":1,"what":"use[5]","df":"","bytes":0,"producer":"","consumer":"0.3","link":"0->1","file":"","line":0}]}`},
		{"arrows of a CF", func() (any, error) { return tl.Arrows(ArrowQuery{CF: "0.3"}) }, `{"more":0,"arrows":[
{"kind":"cf","t0":7,"t1":9,"from_lane":-1,"to_lane":2,"from_node":0,"to_node":1,"what":"use[5]","df":"","bytes":0,"producer":"","consumer":"0.3","link":"0->1","file":"","line":0},
{"kind":"wait","t0":20,"t1":33,"from_lane":1,"to_lane":2,"from_node":0,"to_node":1,"what":"x[3]","df":"0:1","bytes":80,"producer":"0.2","consumer":"0.3","link":"0->1","file":"","line":0},
{"kind":"df","t0":22,"t1":30,"from_lane":1,"to_lane":2,"from_node":0,"to_node":1,"what":"x[3]","df":"0:1","bytes":90,"producer":"0.2","consumer":"0.3","link":"0->1","file":"","line":0}]}`},
		{"factors", func() (any, error) { return tl.Factors(FactorQuery{From: 10, To: 30, Windows: 2, Lanes: []int{1}}) }, `{"from":10,"to":30,"window_ns":10,"windows":2,"known_ns":50,
"rows":["U","S","L","O","W","loss"],"total":[[8,0],[0,10],[0,0],[0,0],[2,0],[0,0]],"lanes":[{"lane":1,"sum":[8,10,0,0,2,0]}],
"nodes":[{"node":0,"sum":[8,10,0,0,2,0],"windows":[[8,0],[0,10],[0,0],[0,0],[2,0],[0,0]]}],"sum":[8,10,0,0,2,0],"extra_cores_ns":0}`},
		{"path", func() (any, error) { return tl.Path(context.Background(), PathQuery{To: max(tl.Wall(), 1)}) }, `{"steps":[
{"from":0,"to":1,"lane":0,"factor":"O","part":"create","cf":"0.1","title":"main","code":1},
{"from":1,"to":2,"lane":0,"factor":"O","part":"deliver","cf":"0.1","title":"main","code":1},
{"from":2,"to":3,"lane":0,"factor":"O","part":"create","cf":"0.1","title":"main","code":1},
{"from":3,"to":6,"lane":1,"factor":"O","part":"deliver","cf":"0.2","title":"make","code":2},
{"from":6,"to":10,"lane":1,"factor":"O","part":"dispatch","cf":"0.2","title":"make","code":2},
{"from":10,"to":12,"lane":1,"factor":"U","part":"","cf":"0.2","title":"make","code":2},
{"from":12,"to":14,"lane":1,"factor":"W","part":"lock","cf":"0.2","title":"make","code":2},
{"from":14,"to":20,"lane":1,"factor":"U","part":"","cf":"0.2","title":"make","code":2},
{"from":20,"to":22,"lane":2,"factor":"O","part":"send","cf":"0.3","title":"use[5]","code":3},
{"from":22,"to":30,"lane":2,"factor":"L","part":"0->1","cf":"0.3","title":"x[3]","code":3},
{"from":30,"to":31,"lane":2,"factor":"O","part":"deliver","cf":"0.3","title":"use[5]","code":3},
{"from":31,"to":33,"lane":2,"factor":"O","part":"dispatch","cf":"0.3","title":"use[5]","code":3},
{"from":33,"to":40,"lane":2,"factor":"U","part":"","cf":"0.3","title":"use[5]","code":3},
{"from":40,"to":50,"lane":-1,"factor":"S","part":"","cf":"","title":"","code":0}],"missing":[]}`},
	} {
		got, err := c.ask()
		if err != nil {
			t.Fatal(c.name, err)
		}
		b, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(`\u003e`, ">", `\u003c`, "<").Replace(string(b))
		if text != strings.ReplaceAll(c.want, "\n", "") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

// FuzzQueries asks arbitrary questions.
func FuzzQueries(f *testing.F) {
	f.Add(int64(0), int64(50), 10, 0, true, "0.3")
	f.Add(int64(-1), int64(1)<<62, 20000, 2, false, "0.1")
	f.Add(int64(math.MinInt64), int64(math.MaxInt64), 1, -1, false, "")
	f.Add(int64(49), int64(50), 20000, 1, true, "1.1")
	tl, _ := made(f, sloutest.Build(f, smallRun))
	f.Fuzz(func(t *testing.T, from, to int64, n, lane int, code bool, cf string) {
		by := "factor"
		if code {
			by = "code"
		}
		lanes := []int{lane}
		_, err1 := tl.Tile(TileQuery{From: from, To: to, Width: n, By: by, Lanes: lanes})
		_, err2 := tl.Factors(FactorQuery{From: from, To: to, Windows: n, Lanes: lanes})
		_, err3 := tl.Boxes(BoxQuery{From: from, To: to, Lanes: lanes, Limit: n})
		_, err4 := tl.Arrows(ArrowQuery{From: from, To: to, Lanes: lanes, Limit: n})
		_, err5 := tl.Arrows(ArrowQuery{CF: cf, From: 0, To: 1, Limit: n})
		_, err6 := tl.Path(context.Background(), PathQuery{From: from, To: to, Limit: n})
		for i, err := range []error{err1, err2, err3, err4, err5, err6} {
			if err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(i, err)
			}
		}
	})
}

// Many may ask at once, even before anything is built.
func TestConcurrent(t *testing.T) {
	tl, _ := made(t, sloutest.Build(t, smallRun))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err1 := tl.Tile(TileQuery{To: 50, Width: 10, By: "code"})
			_, err2 := tl.Arrows(ArrowQuery{To: 50})
			_, err3 := tl.Arrows(ArrowQuery{CF: "0.3"})
			_, err4 := tl.Path(context.Background(), PathQuery{To: max(tl.Wall(), 1)})
			_, err5 := tl.Boxes(BoxQuery{To: 50})
			if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestCancelled(t *testing.T) {
	m := sloutest.Build(t, smallRun)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Build(ctx, m, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	tl, _ := made(t, m)
	if _, err := tl.Path(ctx, PathQuery{To: max(tl.Wall(), 1)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if p, err := tl.Path(context.Background(), PathQuery{To: max(tl.Wall(), 1)}); err != nil || len(p.Steps) == 0 {
		t.Error("what was cancelled is not found any more", err)
	}
}
