package experiment

import (
	"os/exec"
	"strings"
	"testing"
)

func TestCheckPGAS(t *testing.T) {
	if err := CheckPGAS(map[string]int{"threads": 4, "work": 2, "disk": 500}); err != nil {
		t.Error(err)
	}
	for text, given := range map[string]map[string]int{
		`no "speed" here: use [disk threads work]`: {"speed": 1},
		"threads=0: use 1 to 64":                   {"threads": 0},
		"threads=6: use a power of two":            {"threads": 6},
		"disk=-1: use 1 to":                        {"disk": -1},
	} {
		if err := CheckPGAS(given); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v", given, err)
		}
	}
	k := kernels[0].sized(Options{PGAS: map[string]int{"work": 3}})
	if k.args[4] != 24 || kernels[0].args[4] != 8 {
		t.Error(k.args, kernels[0].args)
	}
}

// sizedMode is a mode whose runs leave so many bytes behind.
func sizedMode(name string, bytes int64, more ...int64) *Mode {
	m := modeOf(name, more...)
	for i := range m.Pairs {
		m.Pairs[i].Bytes = bytes
	}
	return m
}

func answersOf(checks []Check) string {
	var list []string
	for _, c := range checks {
		list = append(list, c.answer())
	}
	return strings.Join(list, ", ")
}

// What the claims say of made-up measurements.
func TestKernelJudges(t *testing.T) {
	quiet, cheap := modeOf("again", -1, 1, -1, 1, 0, 0, 0), []int64{3, 4, 3, 4, 3, 4, 3}
	other := sizedMode(packed, 100, cheap...)
	other.Pairs[3].Same = false
	for _, x := range []struct {
		about string
		modes []*Mode
		want  string
	}{
		{"as expected", []*Mode{quiet, sizedMode(notPacked, 500, cheap...), sizedMode(packed, 100, cheap...)},
			"yes, yes, yes, yes"},
		{"dear", []*Mode{quiet, sizedMode(notPacked, 500, cheap...),
			sizedMode(packed, 100, 12, 13, 12, 13, 12, 13)}, "yes, NO, yes, yes"},
		{"compression is worth nothing", []*Mode{quiet, sizedMode(notPacked, 100, cheap...),
			sizedMode(packed, 100, cheap...)}, "yes, yes, NO, yes"},
		{"another result", []*Mode{quiet, sizedMode(notPacked, 500, cheap...), other}, "yes, yes, yes, NO"},
		{"a busy machine", []*Mode{modeOf("again", -20, 20, 5, 4, 3, -9), sizedMode(notPacked, 500, cheap...),
			sizedMode(packed, 100, cheap...)}, "too busy to say, too busy to say, yes, yes"},
	} {
		p := &CostProgram{Modes: x.modes, off: nothing("nothing")}
		if got := answersOf(judgeKernels(p)); got != x.want {
			t.Errorf("%s: %s, want %s", x.about, got, x.want)
		}
	}
	for _, x := range []struct {
		about string
		slow  bool
		sync  []int64
		async []int64
		want  string
	}{
		{"what asynchronous writing is for", true, []int64{30, 31, 30, 31, 30, 31}, cheap, "yes, yes, yes"},
		{"it makes it worse", true, cheap, []int64{30, 31, 30, 31, 30, 31}, "yes, yes, NO"},
		{"no difference to be seen", true, cheap, []int64{5, 2, 5, 2, 5, 2}, "yes, yes, too busy to say"},
		{"nothing is claimed of a fast disk", false, cheap, cheap, "yes, yes"},
	} {
		p := &CostProgram{Modes: []*Mode{quiet, modeOf("1 MiB, synchronous", 40, 40, 40, 40, 40, 40),
			modeOf("1 MiB, asynchronous", 41, 41, 41, 41, 41, 41), modeOf("8 MiB, synchronous", x.sync...),
			modeOf("8 MiB, asynchronous", x.async...)}, off: nothing("nothing"), disk: disk{slow: x.slow}}
		if got := answersOf(judgeBuffers(p)); got != x.want {
			t.Errorf("%s: %s, want %s", x.about, got, x.want)
		}
	}
}

// TestSlowDisk: a run takes at least as long as the disk takes for what it leaves behind, whether one writes
// or several, and nothing is lost by that.
func TestSlowDisk(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	at := &place{scratch: t.TempDir()}
	k := written.sized(Options{Quick: true})
	mode := &Mode{Name: "trace", tool: gaspTool}
	var outputs []string
	for _, d := range []disk{{}, {slow: true}} {
		for _, sync := range []string{"0", "1"} {
			d.speed = 100
			mode.Env = []string{"WHYSLOW_SYNC=" + sync, "WHYSLOW_BUFFER=1k"}
			took, err := k.run(t.Context(), at, 2, d, mode)
			if err != nil {
				t.Fatal(err)
			}
			outputs = append(outputs, took.output)
			if least := took.Bytes * 1e9 / 100_000; d.slow && took.WallNS < least {
				t.Errorf("%+v: %d bytes took %d ns, the disk takes %d", d, took.Bytes, took.WallNS, least)
			}
			if d.slow && sync == "1" && took.WaitedNS < took.Bytes*1e9/100_000/8 {
				t.Errorf("%+v: the first thread waited for %d ns only", took, took.WaitedNS)
			}
			if took.output != outputs[0] || took.Bytes < 1000 {
				t.Errorf("%+v: %+v, %s", d, took, outputs[0])
			}
		}
	}
}
