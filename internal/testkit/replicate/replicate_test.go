package replicate_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// recorded opens a recorded run of testdata.
func recorded(t *testing.T, name string) *trace.Reader {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, string(text))
}

func parsed(t *testing.T, text string) *trace.Reader {
	t.Helper()
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

func open(t *testing.T, dir string) *trace.Reader {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func write(t *testing.T, r *trace.Reader, opt replicate.Options) (*trace.Reader, replicate.Stats) {
	t.Helper()
	dir := t.TempDir()
	stats, err := replicate.Write(context.Background(), dir, r, opt)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, dir), stats
}

func divide(t *testing.T, r *trace.Reader) *slou.Result {
	t.Helper()
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// However many copies there are and whatever crosses, the trace does not contradict itself, and all is there
// as often.
func TestConsistent(t *testing.T) {
	for _, name := range []string{"cholesky", "balance", "heat"} {
		one := recorded(t, name)
		before := divide(t, one)
		for _, opt := range []replicate.Options{{Copies: 1, Crossing: 1}, {Copies: 2, Crossing: 1}, {Copies: 3},
			{Copies: 5, Crossing: 0.3, Seed: 7}, {Copies: 7, Crossing: 1, Parallel: 3}} {
			many, stats := write(t, one, opt)
			rep, err := consistency.Check(context.Background(), many)
			if err != nil {
				t.Fatal(err)
			}
			n := opt.Copies
			if !rep.Consistent || !rep.Whole || rep.Events != uint64(n*one.Events()) ||
				stats.Events != int64(n*one.Events()) || stats.Nodes != 3*n {
				t.Errorf("%s, %+v: %+v; %+v", name, opt, rep, stats)
			}
			if crosses := opt.Crossing > 0 && n > 1; (stats.Crossing > 0) != crosses || opt.Crossing == 1 && crosses &&
				stats.Crossing*10 < stats.Messages*9 {
				t.Errorf("%s, %+v: %d of %d messages cross", name, opt, stats.Crossing, stats.Messages)
			}
			after := divide(t, many)
			if after.WallNS != before.WallNS ||
				after.TotalNS-after.ExtraCoresNS != int64(n)*(before.TotalNS-before.ExtraCoresNS) ||
				after.Factors.U.NS != int64(n)*before.Factors.U.NS ||
				after.Messages.Count != int64(n)*before.Messages.Count ||
				after.Messages.Violations != int64(n)*before.Messages.Violations || len(after.Nodes) != 3*n {
				t.Errorf("%s, %+v: %+v, once it is %+v", name, opt, after.Factors, before.Factors)
			}
			if opt.Crossing == 0 && after.Factors.L.NS != int64(n)*before.Factors.L.NS {
				t.Errorf("%s, %+v: latency %d, once it is %d", name, opt, after.Factors.L.NS, before.Factors.L.NS)
			}
		}
	}
}

// User events, names and processes of copies.
func TestNumbers(t *testing.T) {
	r := parsed(t, `#run {"ended":"done","hosts":["h"],"processes":[{"pid":3,"host":"h"},{"pid":4,"host":"h"}],"nodes":[{"node":0,"host":"h","process":0,"workers":1},{"node":1,"host":"h","process":1,"workers":1}]}
#node 0
#string 9 "lock"
#kind My.onThing cf:CF name:Name to:Node
#node 1
1 n0 s0 Global.onProgramStarted process=0 cpu=0
2 n0 s0 Sync.onWaitStarted "lock"
3 n0 s0 Sync.onWaitEnded "lock"
4 n0 s0 My.onThing 1.5 "lock" 1
9 n0 s0 Global.onProgramFinished 0
1 n1 s0 Global.onProgramStarted process=1 cpu=0
9 n1 s0 Global.onProgramFinished 0
`)
	many, _ := write(t, r, replicate.Options{Copies: 2})
	var text strings.Builder
	if err := twin.Dump(&text, many); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"n2 s0 GlobalEvents.onProgramStarted process=2 cpu=0",
		"n3 s0 GlobalEvents.onProgramStarted process=3 cpu=0", "n2 s0 SyncEvents.onWaitEnded name=lock",
		"n2 s0 My.onThing cf=3.5 name=lock to=3"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s is not there:\n%s", want, &text)
		}
	}
	info := many.Run()
	if n := info.Node(3); n.Process != 3 || n.Host != "h-1" || len(info.Processes) != 4 ||
		info.Processes[2].Host != "h-1" || len(info.Hosts) != 2 {
		t.Errorf("%+v", info)
	}
}

func TestRefused(t *testing.T) {
	good := recorded(t, "balance")
	for _, c := range []struct {
		r    *trace.Reader
		opt  replicate.Options
		want string
	}{
		{good, replicate.Options{}, "give 1 or more"},
		{good, replicate.Options{Copies: 2, Crossing: 2}, "give 0 to 1"},
		{good, replicate.Options{Copies: 1 << 15}, "at most 65536 nodes"},
		{parsed(t, "1 n1 s0 CF.onReady 1.1\n"), replicate.Options{Copies: 2}, "node 0 is missing"},
		{parsed(t, "1 n0 s0 CF.onReady 7.1\n"), replicate.Options{Copies: 2}, "node 0 knows of node 7"},
	} {
		if _, err := replicate.Write(context.Background(), t.TempDir(), c.r, c.opt); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := replicate.Write(ctx, t.TempDir(), good, replicate.Options{Copies: 2}); err == nil {
		t.Error("an interrupted one succeeds")
	}
}
