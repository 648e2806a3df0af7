package sdk

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

var cBlock = regexp.MustCompile("(?ms)^```c\n(.*?)^```$")

// The program in docs/c-sdk.md must compile and give a trace that can be reported on.
func TestExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/c-sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := cBlock.FindAllSubmatch(page, -1)
	if len(blocks) != 1 {
		t.Fatalf("%d programs in the page", len(blocks))
	}
	source := cctest.Source(t, "squares.c", string(blocks[0][1]))
	for _, build := range []string{"c", "c++"} {
		res := run(t, compile(t, source, build), nil)
		res.ok(t, 0, "")
		sum := report(t, res.trace)
		useful := map[string]int{}
		for _, f := range sum.Fragments {
			useful[f.Code] = int(f.Count)
		}
		if useful["square"] != 16 || useful["add"] != 1 {
			t.Errorf("code fragments %v", useful)
		}
		if sum.Factors.U == nil || sum.Factors.U.NS <= 0 || sum.Factors.U.MeasuredNS <= 0 {
			t.Errorf("useful work %+v", sum.Factors.U)
		}
		var text bytes.Buffer
		if err := twin.Dump(&text, open(t, res.trace)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`#kind 256 Squares.onPartial part:Int value:Float "The sum of a part is known."`, "#df 17 total [0 2]",
			"inputs=[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16]"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the trace lacks %s", want)
			}
		}
	}
}

// Two processes of one host share a time scale; messages between them are found again.
func TestProcesses(t *testing.T) {
	t.Parallel()
	res := run(t, compile(t, "testdata/nodes.c", "c"), nil)
	res.ok(t, 0, "")
	const ms = 1000000
	sum := report(t, res.trace)
	if sum.Factors.U.NS < 21*ms || sum.Factors.L == nil || sum.Factors.L.NS < 10*ms ||
		sum.Factors.L.Parts["0->1"] != sum.Factors.L.NS || sum.Factors.S.NS < 15*ms {
		t.Errorf("%+v %+v %+v", sum.Factors.U, sum.Factors.S, sum.Factors.L)
	}
	if len(sum.Nodes) != 2 || sum.Nodes[0].Host != "alpha" || sum.Nodes[1].Host != "beta" {
		t.Errorf("nodes %+v", sum.Nodes)
	}
	r := open(t, res.trace)
	if info := r.Run(); info.Clock != "monotonic" || len(info.Processes) != 2 || info.Nodes[1].Process != 1 {
		t.Errorf("%+v", info)
	}
}

// The page must name every setting that the header and the collectors read from the environment, and no
// other.
func TestPageNamesSettings(t *testing.T) {
	page, err := os.ReadFile("../docs/c-sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := Header
	for _, name := range []string{"collect.h", "gasp.c"} {
		text, err := PGAS.ReadFile("pgas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sources += string(text)
	}
	variable := regexp.MustCompile(`WHYSLOW_[A-Z_]+`)
	known := map[string]bool{"WHYSLOW_IMPLEMENTATION": true, "WHYSLOW_NO_DLOPEN": true}
	for _, m := range regexp.MustCompile(`(?:wsi_env[a-z_]*|wsc_choice)\((?:[^"()]+, )?"(WHYSLOW_[A-Z_]+)"`).
		FindAllStringSubmatch(sources, -1) {
		known[m[1]] = true
		if !bytes.Contains(page, []byte("`"+m[1]+"`")) {
			t.Errorf("the page lacks %s", m[1])
		}
	}
	for _, name := range variable.FindAllString(string(page), -1) {
		if !known[name] {
			t.Errorf("the header does not know %s", name)
		}
	}
}

// BenchmarkEvent prints nanoseconds per event against a bare counter read and 24-byte store.
func BenchmarkEvent(b *testing.B) {
	path := compile(b, "testdata/bench.c", "c")
	var out []byte
	for b.Loop() {
		cmd := exec.Command(path)
		cmd.Dir = b.TempDir()
		var err error
		if out, err = cmd.Output(); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("\n%s", out)
}
