package api_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// unpacked is the trace of an exported interval.
func unpacked(t *testing.T, archive []byte) (dir string) {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(out, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			continue
		}
		dir = filepath.Dir(path)
		data, err := io.ReadAll(in)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err != nil || os.WriteFile(path, data, 0o644) != nil {
			t.Fatal(err)
		}
	}
}

func load(t *testing.T, dir string) *model.Model {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	m, err := model.Build(t.Context(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// killed cuts the text of a run at two thirds, as when its processes are killed.
func killed(t *testing.T, text []byte) []byte {
	var out bytes.Buffer
	lines := bytes.SplitAfter(text, []byte("\n"))
	first, last := int64(math.MaxInt64), int64(0)
	at := func(line []byte) (ns int64) {
		if _, err := fmt.Sscanf(string(line), "%d ", &ns); err != nil {
			return 0 // a definition
		}
		return ns
	}
	for _, l := range lines {
		if t := at(l); t > 0 {
			first, last = min(first, t), max(last, t)
		}
	}
	if last == 0 {
		t.Fatal("the run has no events")
	}
	for _, l := range lines {
		if at(l) <= first+(last-first)*2/3 && !bytes.Contains(l, []byte("onProgramFinished")) {
			out.Write(bytes.Replace(l, []byte(`"ended":"done"`), []byte(`"ended":""`), 1))
		}
	}
	return out.Bytes()
}

// TestExportedInterval: an exported interval has the factors of that interval of the run, in total and of
// each worker, in the report and on the page; it says that it is an interval, and that the program was killed
// only where the interval has that.
func TestExportedInterval(t *testing.T) {
	for _, name := range []string{"cholesky", "heat", "balance", "heat, killed", "regions"} {
		of, dies := strings.CutSuffix(name, ", killed")
		text, err := replicate.Recording(of)
		if name == "regions" {
			text, err = os.ReadFile("../../../cli/testdata/regions.txt")
		}
		if err != nil {
			t.Fatal(err)
		}
		if dies {
			text = killed(t, text)
		}
		dir := filepath.Join(t.TempDir(), name+".trace")
		if err := twin.Parse(bytes.NewReader(text), dir); err != nil {
			t.Fatal(err)
		}
		whole := load(t, dir)
		if whole.Killed != dies {
			t.Fatalf("%s: killed: %v", name, whole.Killed)
		}
		s, ids := serve(t, api.Config{}, dir)
		random := rand.New(rand.NewPCG(1, 2))
		for i := range effort.Times(10, 60) {
			from := random.Int64N(whole.Wall())
			to := from + 1 + random.Int64N(whole.Wall()-from)>>random.IntN(8)
			if i < 2 { // to the end, and all
				from, to = from*int64(i), whole.Wall()
			}
			what := fmt.Sprintf("%s from %d to %d of %d", name, from, to, whole.Wall())
			code, archive, _ := get(t, fmt.Sprintf("%s/api/runs/%s/export?from=%d&to=%d", s.URL, ids[0], from, to))
			if code == http.StatusBadRequest && bytes.Contains(archive, []byte("no events")) {
				continue
			}
			if code != http.StatusOK {
				t.Fatalf("%s: %d: %s", what, code, archive)
			}
			part := unpacked(t, archive)
			m := load(t, part)
			in := &slou.Interval{FromNS: from, ToNS: to}
			if to-from == whole.Wall() { // that is no part
				in = nil
			}
			ofWhole, err := report.Compute(t.Context(), whole, report.Wanted{Within: in}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := ofWhole.SLOU
			got, err := report.Compute(t.Context(), m, report.Wanted{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []string{cmp.Diff(want.Factors, got.SLOU.Factors), cmp.Diff(want.Nodes, got.SLOU.Nodes),
				cmp.Diff(want.Interval, got.SLOU.Interval)} {
				if d != "" {
					t.Fatalf("%s: %s", what, d)
				}
			}
			dead := dies && to == whole.Wall()
			if said := strings.Contains(fmt.Sprint(got.Warnings()), "killed"); got.Run.Killed != dead || said != dead {
				t.Errorf("%s: killed: %v, %v", what, got.Run.Killed, got.Warnings())
			}
			if i < 3 && in != nil {
				onPage(t, part, want, dead)
			}
		}
	}
}

// onPage compares what the page says of an exported interval.
func onPage(t *testing.T, part string, want *slou.Result, dead bool) {
	t.Helper()
	s, ids := serve(t, api.Config{}, part)
	code, body, _ := get(t, s.URL+"/api/runs/"+ids[0]+"/report")
	var got struct{ Factors slou.Factors }
	if err := json.Unmarshal(body, &got); err != nil || code != http.StatusOK {
		t.Fatalf("%d, %v: %.300s", code, err, body)
	}
	if d := cmp.Diff(want.Factors, got.Factors); d != "" {
		t.Errorf("the page of %s: %s", part, d)
	}
	if _, body, _ := get(t, s.URL+"/api/runs/"+ids[0]+"/checks"); !bytes.Contains(body, []byte("was exported")) ||
		bytes.Contains(body, []byte("killed")) != dead {
		t.Errorf("doubts of %s: %s", part, body)
	}
	if _, body, _ := get(t, s.URL+"/api/runs/"+ids[0]); bytes.Contains(body, []byte(`"state":"killed"`)) {
		t.Errorf("%s: %s", part, body)
	}
	if code, body, _ := get(t, s.URL+"/api/runs/"+ids[0]+"/factors"); code != http.StatusOK {
		t.Errorf("factors of %s: %d: %.300s", part, code, body)
	}
}
