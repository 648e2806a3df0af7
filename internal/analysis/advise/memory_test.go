package advise_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
)

// peak is the most bytes that copies of DFs took at one time.
func peak(a *analysed) (most int64) {
	m := a.m
	copies := slices.Clone(m.Copies)
	slices.SortStableFunc(copies, func(x, y model.Copy) int { return cmp.Compare(x.Time, y.Time) })
	var now int64
	for _, c := range copies {
		i, ok := m.Creation(c.DF, c.Time)
		if !ok {
			continue
		}
		if c.What == model.CopyStored {
			now += m.SizeMade(i)
		} else {
			now -= m.SizeMade(i)
		}
		most = max(most, now)
	}
	return most
}

// TestSecondCopiesCount: ten DFs of 2 MB are made, sent, and read on another node. Nothing is freed, so both
// nodes hold them all: memory and advice say 40.0 MB.
func TestSecondCopiesCount(t *testing.T) {
	var b [2]strings.Builder
	for n, code := range []string{"make", "eat"} {
		fmt.Fprintf(&b[n], "#node %d\n#code 1 %s atomic at=p.fa:%d:1\n#site 1 code=1 at=p.fa:%d:1\n", n, code, n+1,
			n+5)
		for i := 1; i <= 10; i++ {
			fmt.Fprintf(&b[n], "#df %d x [0 1 %d]\n", i, i)
		}
		fmt.Fprintf(&b[n], "0 Global.onProgramStarted\n")
		for i := 1; i <= 10; i++ {
			fmt.Fprintf(&b[n], "0 CF.onCreated cf=%d.%d site=1\n", n, i)
		}
	}
	for i := 1; i <= 10; i++ {
		at := i * 1000
		fmt.Fprintf(&b[0], "%dus CF.onReady 0.%d\n%[1]dus CF.onStarted 0.%[2]d\n", at, i)
		at += 400
		fmt.Fprintf(&b[0], "%dus CF.onFinished 0.%d\n%[1]dus DF.onCreate %[2]d size=2000000 cf=0.%[2]d\n", at, i)
		fmt.Fprintf(&b[0], "%dus DF.onStored %d size=2000000\n", at, i)
		fmt.Fprintf(&b[0], "%dus DF.onSent df=%d to=1 message=0.%[2]d\n", at, i)
		at += 100
		fmt.Fprintf(&b[1], "%dus s1 DF.onReceived df=%d from=0 message=0.%[2]d\n", at, i)
		fmt.Fprintf(&b[1], "%dus s1 DF.onStored %d size=2000000\n", at, i)
		fmt.Fprintf(&b[1], "%dus CF.onReady 1.%d\n%[1]dus CF.onStarted 1.%[2]d inputs=[%[2]d]\n", at, i)
		fmt.Fprintf(&b[1], "%dus CF.onFinished 1.%d\n", at+400, i)
	}
	for i := 1; i <= 10; i++ {
		fmt.Fprintf(&b[0], "20ms DF.onDestroy df=%d size=2000000 reason=end\n", i)
	}
	for n := range b {
		fmt.Fprintf(&b[n], "20ms Global.onProgramFinished\n")
	}
	a := analyse(t, b[0].String()+b[1].String())
	if a.in.Memory.Total.Bytes != 40e6 || peak(a) != 40e6 {
		t.Errorf("at most %d bytes are held, %d by another count", a.in.Memory.Total.Bytes, peak(a))
	}
	x := a.find("never-freed")
	if x == nil {
		t.Fatal("nothing is said of memory")
	}
	if want := "all DFs would take at most 4.0 MB instead of 40.0 MB"; !strings.Contains(x.Text, want) {
		t.Errorf("it does not say %q: %s", want, x.Text)
	}
	want := "10 DFs of `x` (20.0 MB, made by `make` (p.fa:5)) were still held"
	if !strings.Contains(x.Text, want) {
		t.Errorf("it does not say %q: %s", want, x.Text)
	}
}
