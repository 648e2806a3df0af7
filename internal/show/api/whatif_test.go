package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// heat is a trace of the heat example.
func heat(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "heat.trace")
	text, err := replicate.Recording("heat")
	if err == nil {
		err = twin.Parse(strings.NewReader(string(text)), dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// asked is the answer to a question that must be answered.
func asked[T any](t *testing.T, url string) (v T) {
	t.Helper()
	status, body, _ := get(t, url)
	if err := json.Unmarshal(body, &v); status != http.StatusOK || err != nil {
		t.Fatalf("%s: %d %s (%v)", url, status, body, err)
	}
	return v
}

type prediction struct {
	Sampled        bool
	Nodes, Workers int
	Wall           int64 `json:"wall_ns"`
	Useful         int64 `json:"useful_ns"`
	Picture        struct{ Lanes, Shares, Load [][]int }
}

// Another machine gives another prediction, whose pictures and factors fit together; nothing is left behind.
func TestWhatIf(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, ids := serve(t, api.Config{}, heat(t))
	url := s.URL + "/api/runs/" + ids[0] + "/whatif"
	facts := asked[struct {
		Why            string
		Nodes, Workers int
		Codes          []string
		Sampled        bool
		Picture        struct{ Lanes, Load [][]int }
	}](t, url)
	if facts.Why != "" || facts.Nodes != 3 || facts.Workers != 1 || facts.Sampled || len(facts.Picture.Lanes) != 3 ||
		len(facts.Codes) == 0 {
		t.Fatalf("%+v", facts)
	}
	same, more := asked[prediction](t, url+"/predict"), asked[prediction](t, url+"/predict?nodes=5&workers=2")
	if same.Nodes != 3 || len(same.Picture.Lanes) != 3 || len(same.Picture.Load) != 3 {
		t.Errorf("as recorded: %+v", same)
	}
	if more.Nodes != 5 || more.Workers != 2 || len(more.Picture.Lanes) != 10 || len(more.Picture.Load) != 5 ||
		more.Useful != same.Useful {
		t.Errorf("5 nodes with 2 workers: %+v", more)
	}
	far := asked[prediction](t, url+"/predict?latency=1000000")
	fast := asked[prediction](t, url+"/predict?speed="+facts.Codes[0]+"=2")
	if far.Wall < 2*same.Wall || fast.Useful >= same.Useful {
		t.Errorf("over slow links: %d ns, as recorded %d; one fragment faster: useful %d, as recorded %d", far.Wall,
			same.Wall, fast.Useful, same.Useful)
	}
	for _, p := range []prediction{same, more, far} {
		load := 0.0 // useful time by the picture
		for _, row := range p.Picture.Load {
			for _, v := range row {
				load += float64(v) / 1000 / float64(len(row)) * float64(p.Wall) * float64(p.Workers)
			}
		}
		if off := load / float64(p.Useful); off < 0.95 || off > 1.05 {
			t.Errorf("%d ns are useful, the picture has %.0f", p.Useful, load)
		}
		// Lanes show whatever ran, even of a run that nearly always waits.
		load = 0
		for i, row := range p.Picture.Shares {
			for c, v := range row {
				load += float64(v) / 1000 / float64(len(row)) * float64(p.Wall)
				if (v > 0) != (p.Picture.Lanes[i][c] > 0) {
					t.Fatalf("lane %d, column %d: %d / 1000 of the time in code fragment %d", i, c, v,
						p.Picture.Lanes[i][c])
				}
			}
		}
		if off := load / float64(p.Useful); off < 0.95 || off > 1.05 {
			t.Errorf("%d ns are useful, the lanes have %.0f", p.Useful, load)
		}
	}
	// An interval has its part of that, in as many columns; after the end there is nothing.
	for _, part := range []struct {
		from, to int64
		want     bool
	}{{0, more.Wall / 4, true}, {more.Wall / 4, more.Wall, true}, {more.Wall, 2 * more.Wall, false}} {
		zoomed := asked[struct {
			Measured, Predicted struct{ Lanes, Shares, Load [][]int }
		}](t,
			fmt.Sprintf("%s/zoom?nodes=5&workers=2&from=%d&to=%d", url, part.from, part.to))
		whole, got := 0.0, 0.0 // ns
		for i, row := range more.Picture.Shares {
			for c, v := range row {
				if at := more.Wall * int64(c) / int64(len(row)); at >= part.from && at < part.to {
					whole += float64(v) / 1000 * float64(more.Wall) / float64(len(row))
				}
			}
			for _, v := range zoomed.Predicted.Shares[i] {
				got += float64(v) / 1000 * float64(part.to-part.from) / float64(len(row))
			}
		}
		if got < 0.9*whole || got > 1.1*whole || (got > 0) != part.want || len(zoomed.Measured.Lanes) != 3 {
			t.Errorf("from %d to %d: %.0f ns are useful, the whole picture has %.0f", part.from, part.to, got, whole)
		}
	}
	factors := asked[struct {
		Total   int64 `json:"total_ns"`
		Factors map[string]struct{ NS int64 }
	}](t, url+"/factors?nodes=5&workers=2")
	sum := int64(0)
	for _, f := range factors.Factors {
		sum += f.NS
	}
	if factors.Total != more.Wall*10 || sum != factors.Total || factors.Factors["U"].NS != more.Useful {
		t.Errorf("%d ns of 10 workers, in factors %+v", more.Wall, factors)
	}
	if status, body, _ := get(t, url+"/estimate"); string(body) != "null" {
		t.Errorf("a small run is estimated: %d %s", status, body)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Scaling is what is predicted of each number of nodes, and says where more stop to pay.
func TestWhatIfScaling(t *testing.T) {
	s, ids := serve(t, api.Config{}, heat(t))
	url := s.URL + "/api/runs/" + ids[0] + "/whatif"
	scaling := asked[struct {
		Sampled  bool
		Machines []struct {
			prediction
			Least int64 `json:"least_ns"`
			Chain int64 `json:"chain_ns"`
		}
		Pays int
	}](t, url+"/scaling?nodes=5&workers=2&latency=1000000")
	var nodes []int
	pays := false
	for _, m := range scaling.Machines {
		nodes = append(nodes, m.Nodes)
		pays = pays || m.Nodes == scaling.Pays
		one := asked[prediction](t, fmt.Sprintf("%s/predict?nodes=%d&workers=2&latency=1000000", url, m.Nodes))
		if m.Wall != one.Wall || m.Workers != 2 || m.Chain == 0 || m.Least < m.Chain || m.Picture.Load != nil {
			t.Errorf("%+v; %d nodes alone take %d ns", m, m.Nodes, one.Wall)
		}
	}
	if want := []int{1, 2, 4, 5, 8, 16}; !slices.Equal(nodes, want) || !pays || scaling.Sampled {
		t.Errorf("%v nodes, want %v; more than %d gain little; sampled: %v", nodes, want, scaling.Pays,
			scaling.Sampled)
	}
}

// The profile has all useful time, by code fragment and by label; the balancer places it on the nodes asked
// for.
func TestWhatIfProfile(t *testing.T) {
	s, ids := serve(t, api.Config{}, heat(t))
	url := s.URL + "/api/runs/" + ids[0] + "/whatif"
	type place struct {
		Node int
		NS   int64
	}
	type row struct {
		NS       int64
		Ran, Put []place
	}
	type profile struct {
		Codes, Labels []row
		Strategy      string
		Wall          int64 `json:"wall_ns"`
		Picture       struct{ Load [][]int }
	}
	useful := asked[prediction](t, url+"/predict").Useful
	type trial struct {
		Strategy string
		Wall     int64 `json:"wall_ns"`
		Moved    int
	}
	var fastest trial
	located := asked[prediction](t, url+"/predict?nodes=2").Wall
	strategies := asked[struct{ Strategies []string }](t, url).Strategies
	for i, name := range strategies {
		got := asked[trial](t, url+"/try?nodes=2&strategy="+name)
		if got.Strategy != name || i == 0 && (got.Wall != located || got.Moved != 0) {
			t.Errorf("%s: %+v, located %d ns", name, got, located)
		}
		if i == 0 || got.Wall < fastest.Wall {
			fastest = got
		}
	}
	plain, best := asked[profile](t, url+"/profile"), asked[profile](t, url+"/balance?nodes=2&strategy="+
		fastest.Strategy)
	if plain.Strategy != "" || best.Strategy != fastest.Strategy || best.Wall != fastest.Wall ||
		len(best.Picture.Load) != 2 || len(strategies) < 3 {
		t.Errorf("%+v, the fastest of %q is %+v, its profile %+v", plain, strategies, fastest, best)
	}
	for _, list := range [][]row{plain.Codes, plain.Labels, best.Codes, best.Labels} {
		sum, ran, put := int64(0), int64(0), int64(0)
		for _, r := range list {
			sum += r.NS
			for _, p := range r.Ran {
				ran += p.NS
			}
			for _, p := range r.Put {
				put += p.NS
				if p.Node > 1 {
					t.Errorf("the balancer puts something on node %d of 2", p.Node)
				}
			}
		}
		if sum != useful || ran != useful || put != useful && put != 0 {
			t.Errorf("%d ns are useful; rows have %d, on nodes %d, by the balancer %d", useful, sum, ran, put)
		}
	}
}

// Whoever asks for what cannot be gets one line.
func TestWhatIfBad(t *testing.T) {
	s, ids := serve(t, api.Config{}, heat(t))
	for question, want := range map[string]string{
		"nodes=0":                  `nodes="0": a whole number from 1 to 4096`,
		"workers=x":                `workers="x": a whole number from 1 to 1024`,
		"nodes=4096&workers=1024":  "4096 nodes with 1024 workers each: the limits are 4096, 1024, and 65536 workers in all",
		"latency=-1":               `latency="-1": a whole number from 0 to 1000000000000`,
		"speed=nothing=2":          `the program has no code fragment "nothing"`,
		"speed=step=0":             `speed="step=0": give CODE=FACTOR, with a factor from 0.001 to 1000`,
		"speed=" + "step" + "=NaN": `speed="step=NaN": give CODE=FACTOR, with a factor from 0.001 to 1000`,
	} {
		for _, what := range []string{"predict", "estimate", "factors", "scaling", "balance"} {
			status, body, _ := get(t, s.URL+"/api/runs/"+ids[0]+"/whatif/"+what+"?"+question)
			var why struct{ Error string }
			if err := json.Unmarshal(body, &why); err != nil || status/100 != 4 || why.Error != want {
				t.Errorf("%s?%s: %d %s, want %s", what, question, status, body, want)
			}
		}
	}
	status, body, _ := get(t, s.URL+"/api/runs/"+ids[0]+"/whatif/try?strategy=x")
	if status != http.StatusBadRequest ||
		!strings.Contains(string(body), `strategy=\"x\": one of recorded, cyclic`) {
		t.Errorf("%d %s", status, body)
	}
}

// A run that goes on, and one of threads without CFs, say why nothing is predicted.
func TestWhatIfNot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "live.trace")
	w, err := trace.Create(dir, 0, trace.Options{FlushEvery: 2 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	w.Stream(0).Emit(1, trace.KindProgramStarted, 0, 0)
	info := &trace.RunInfo{Processes: []trace.ProcessInfo{{PID: os.Getpid()}}}
	if info.Processes[0].Host, err = os.Hostname(); err != nil {
		t.Fatal(err)
	}
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, ids := serve(t, api.Config{}, dir, golden(t, filepath.Join("..", "..", "pattern", "testdata", "barrier")))
	for i, want := range []string{"The run goes on", "operations of threads"} {
		url := s.URL + "/api/runs/" + ids[i] + "/whatif"
		for status := 0; status != http.StatusOK; { // its file is being written
			status, _, _ = get(t, url)
		}
		if facts := asked[struct{ Why string }](t, url); !strings.Contains(facts.Why, want) {
			t.Errorf("%q does not say %q", facts.Why, want)
		}
		if status, body, _ := get(t, url+"/predict"); status != http.StatusBadRequest ||
			!strings.Contains(string(body), want) {
			t.Errorf("%d %s", status, body)
		}
	}
}
