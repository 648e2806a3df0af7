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

// modeOf has pairs of runs in which it took more CPU time than the runs beside it, in percent.
func modeOf(name string, more ...int64) *Mode {
	m := &Mode{Name: name}
	for _, percent := range more {
		m.Pairs = append(m.Pairs, Pair{CPUNS: 1000 + 10*percent, OffCPUNS: 1000, WallNS: 500, OffWallNS: 500})
	}
	m.CPU = m.estimate(func(p *Pair) (int64, int64) { return p.CPUNS, p.OffCPUNS })
	return m
}

// What the claims say of made-up measurements: they hold, do not, or the machine was too busy to say.
func TestCostJudges(t *testing.T) {
	quiet := modeOf(control, -1, 1, -1, 1, 0, 0, 0)
	answers := func(checks []Check) string {
		var list []string
		for _, c := range checks {
			list = append(list, c.answer())
		}
		return strings.Join(list, ", ")
	}
	for _, x := range []struct {
		about string
		size  CostSize
		judge func(*CostSize) []Check
		want  string
	}{
		{"cheap", CostSize{Modes: []*Mode{quiet, modeOf("functions", 1, 1, 1, 1, 1, 1, 1),
			modeOf("memory", 0, 0, 1, 1, 0, 0, 1), modeOf("functions and memory", 1, 2, 1, 1, 2, 1, 1)}},
			judgeProfiling, "yes, yes, yes, yes"},
		{"dear", CostSize{Modes: []*Mode{quiet, modeOf("functions", 5, 6, 5, 6, 5, 6, 5),
			modeOf("memory", 0, 0, 1, 1, 0, 0, 1), modeOf("functions and memory", 1, 2, 1, 1, 2, 1, 1)}},
			judgeProfiling, "yes, yes, NO, yes"},
		{"dear on a machine that is not quiet", CostSize{Modes: []*Mode{modeOf(control, 4, 5, 6, 5, 4, 5, 6),
			modeOf("functions", 5, 6, 5, 6, 5, 6, 5), modeOf("memory", 0, 0, 1, 1, 0, 0, 1),
			modeOf("functions and memory", 1, 2, 1, 1, 2, 1, 1)}},
			judgeProfiling, "too busy to say, yes, too busy to say, yes"},
		{"few rounds", CostSize{Modes: []*Mode{modeOf(control, 0), modeOf("functions", 5), modeOf("memory", 1),
			modeOf("functions and memory", 1)}}, judgeProfiling, "too busy to say, yes, too busy to say, yes"},
		{"naive is dear", CostSize{Modes: []*Mode{quiet, modeOf("trace", 2, 2, 2, 2, 2, 2),
			modeOf("naive logging", 90, 80, 70, 90, 80, 90)}}, judgeNaive, "yes, yes"},
		{"naive is cheap", CostSize{Modes: []*Mode{quiet, modeOf("trace", 2, 2, 2, 2, 2, 2),
			modeOf("naive logging", 1, 1, 1, 1, 1, 1)}}, judgeNaive, "yes, NO"},
	} {
		if got := answers(x.judge(&x.size)); got != x.want {
			t.Errorf("%s: %s, want %s", x.about, got, x.want)
		}
	}
}
