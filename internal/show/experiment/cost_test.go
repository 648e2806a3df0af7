package experiment

import (
	"strings"
	"testing"
)

func TestParseBlocks(t *testing.T) {
	if b, err := ParseBlocks("20x200"); err != nil || b != (Blocks{20, 200}) {
		t.Error(b, err)
	}
	for _, text := range []string{"", "20", "x", "20x", "0x5", "5x-1", "20x200x3", "1000x1000",
		"99999999999999999999x1", "4294967296x4294967296"} {
		if _, err := ParseBlocks(text); err == nil || !strings.Contains(err.Error(), "20x200") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// modeOf has pairs of runs in which it took more time than the runs beside it, in percent.
func modeOf(name string, more ...int64) *Mode {
	m := &Mode{Name: name}
	for _, percent := range more {
		took := Took{CPUNS: 1000 + 10*percent, WallNS: 1000 + 10*percent, WaitedNS: 10 * percent}
		m.Pairs = append(m.Pairs, Pair{Took: took, OffCPUNS: 1000, OffWallNS: 1000, Same: true})
	}
	m.conclude()
	return m
}

// What the claims say of made-up measurements: they hold, do not, or the machine was too busy to say.
func TestCostJudges(t *testing.T) {
	quiet, noisy := modeOf(control, -1, 1, -1, 1, 0, 0, 0), modeOf(control, -6, 5, 3, -4, 1, 0, 6)
	functions, memory := modeOf("functions", 1, 1, 1, 1, 1, 1, 1), modeOf("memory", 0, 0, 1, 1, 0, 0, 1)
	both := modeOf("functions and memory", 1, 2, 1, 1, 2, 1, 1)
	for _, x := range []struct {
		about string
		modes []*Mode
		judge func(*CostProgram) []Check
		want  string
	}{
		{"cheap", []*Mode{quiet, functions, memory, both}, judgeProfiling, "yes, yes, yes, yes"},
		{"dear", []*Mode{quiet, modeOf("functions", 5, 6, 5, 6, 5, 6, 5), memory, both}, judgeProfiling,
			"yes, NO, yes, yes"},
		{"on both sides of the bound", []*Mode{quiet, modeOf("functions", 1, 3, 1, 1, 3, 1, 1), memory, both},
			judgeProfiling, "yes, too busy to say, yes, yes"},
		{"the control is off", []*Mode{modeOf(control, 4, 5, 6, 5, 4, 5, 6), functions, memory, both},
			judgeProfiling, "too busy to say, too busy to say, too busy to say, too busy to say"},
		// Within 6 percent: enough for bounds of 8 and 9, not for one of 2, whatever the mode itself seems to cost.
		{"the control is wide", []*Mode{noisy, functions, memory, both}, judgeProfiling,
			"yes, too busy to say, yes, yes"},
		{"few rounds", []*Mode{modeOf(control, 0), modeOf("functions", 5), modeOf("memory", 1),
			modeOf("functions and memory", 1)}, judgeProfiling,
			"too busy to say, too busy to say, too busy to say, too busy to say"},
		{"naive is dear", []*Mode{quiet, modeOf("trace", 2, 2, 2, 2, 2, 2),
			modeOf("naive logging", 90, 80, 70, 90, 80, 90)}, judgeNaive, "yes, yes"},
		{"naive is cheap", []*Mode{quiet, modeOf("trace", 2, 2, 2, 2, 2, 2),
			modeOf("naive logging", 1, 1, 1, 1, 1, 1)}, judgeNaive, "yes, NO"},
		{"naive may be cheap", []*Mode{quiet, modeOf("trace", 2, 2, 2, 2, 2, 2),
			modeOf("naive logging", 1, 1, 1, 3, 1, 1)}, judgeNaive, "yes, too busy to say"},
	} {
		p := &CostProgram{Modes: x.modes, off: &Mode{Name: "no events"}}
		if got := answersOf(x.judge(p)); got != x.want {
			t.Errorf("%s: %s, want %s", x.about, got, x.want)
		}
	}
}
