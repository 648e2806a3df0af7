package advise_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// recorded analyses a recorded trace of testdata.
func recorded(t *testing.T, pair, which string) *analysed {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", pair, which+".trace"))
	if err != nil {
		t.Fatal(err)
	}
	return analyse(t, string(text))
}

func (a *analysed) predict() (*advise.Forecast, error) {
	return advise.Predict(context.Background(), a.list, a.res, func() (*model.Model, error) { return a.m, nil })
}

// What is predicted for advice is what following it gave.
func TestPredict(t *testing.T) {
	for pair, how := range map[string]string{
		"one-node":          "distributed by `whyslow balance --strategy ",
		"distribution":      "distributed by `whyslow balance --strategy ",
		"far-data":          "distributed by `whyslow balance --strategy ",
		"parallelism":       "with each CF of `step` divided into 4",
		"order":             "run with `--priority step`",
		"asked-again":       "with these DFs stored there",
		"locators-disagree": "with these DFs stored there",
		"migration":         "with CFs created where most of them run",
	} {
		a, mended := recorded(t, pair, "fault"), recorded(t, pair, "mended")
		f, err := a.predict()
		if err != nil || f == nil || f.Why != "" || math.Abs(f.Off) >= 0.05 {
			t.Fatalf("%s: %+v, %v", pair, f, err)
		}
		x := a.find(pair)
		predicted, real := a.m.Wall()-x.PredictedWallNS, a.m.Wall()-mended.m.Wall()
		if r := float64(predicted) / float64(real); r < 0.7 || r > 1.3 {
			t.Errorf("%s: %d ns are predicted, %d were gained", pair, predicted, real)
		}
		if !strings.Contains(x.Predicted, how) || x.In(words.Russian).Predicted == x.Predicted {
			t.Errorf("%s: %q", pair, x.Predicted)
		}
	}
}

// What the simulation finds useless comes last, whatever its bound.
func TestUselessComesLast(t *testing.T) {
	for _, c := range []struct {
		predicted, gain int64
		blocking, is    bool
	}{{995, 300, false, true}, {1200, 300, false, true}, {980, 300, false, false}, {0, 300, false, false},
		{1000, 300, true, false}, {1000, 0, false, false}} {
		x := advise.Advice{PredictedWallNS: c.predicted, GainWallNS: c.gain, Blocking: c.blocking}
		if x.Useless(1000) != c.is {
			t.Errorf("%+v", c)
		}
	}
	for _, pair := range []string{"one-node", "distribution", "far-data", "parallelism", "order", "asked-again",
		"migration", "too-small-to-send", "late-transfer", "crossed", "too-many-nodes"} {
		a := recorded(t, pair, "fault")
		if f, err := a.predict(); err != nil || f == nil {
			t.Fatalf("%s: %+v, %v", pair, f, err)
		}
		for i := range a.list[1:] {
			x, y := &a.list[i], &a.list[i+1]
			if x.Useless(a.m.Wall()) && !y.Useless(a.m.Wall()) {
				t.Errorf("%s: %s (%s) comes before %s", pair, x.ID, x.Predicted, y.ID)
			}
		}
	}
}

// Stealing is predicted where no distribution is better.
func TestPredictStealing(t *testing.T) {
	how, was, is, err := advise.Stolen(context.Background(), recorded(t, "distribution", "fault").m)
	if err != nil || how != "with all calls `stealable`" || is >= was {
		t.Errorf("%q, %d ns instead of %d, %v", how, is, was, err)
	}
}

// Where the simulation does not give the recorded run itself, nothing is predicted.
func TestPredictNothing(t *testing.T) {
	text, err := os.ReadFile("testdata/one-node/fault.trace")
	if err != nil {
		t.Fatal(err)
	}
	// The program takes 10 ms to end after its last CF, which is not simulated.
	end := regexp.MustCompile(`(?m)^\d+( .*onProgramFinished)`)
	last := recorded(t, "one-node", "fault").m.End + 10_000_000
	late := end.ReplaceAllString(string(text), fmt.Sprintf("%d$1", last))
	b := analyse(t, late)
	f, err := b.predict()
	if err != nil || f == nil || !strings.HasPrefix(f.Why, "Gains are not simulated: simulating the") ||
		f.Off > -0.05 || b.find("one-node").Predicted != "" {
		t.Errorf("%+v, %v", f, err)
	}
	a := recorded(t, "one-node", "fault")
	a.m.Info.Ended = trace.EndedInterrupted
	if f, err := a.predict(); f != nil || err != nil {
		t.Errorf("interrupted: %+v, %v", f, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := recorded(t, "one-node", "fault")
	if f, err := advise.Predict(ctx, c.list, c.res, func() (*model.Model, error) { return c.m, nil }); f != nil ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", f, err)
	}
	d := recorded(t, "one-node", "fault")
	d.res.Nodes[0].CFs = advise.MostSimulated + 1
	if f, err := d.predict(); err != nil || f == nil || !strings.Contains(f.Why, "the run is too large") {
		t.Errorf("large: %+v, %v", f, err)
	}
}
