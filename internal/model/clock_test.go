package model

import "testing"

func TestCommon(t *testing.T) {
	syncs := []ClockSync{{100, 10, 0}, {200, 30, 0}, {200, 50, 0}, {300, 0, 0}}
	for _, c := range []struct{ at, want int64 }{{None, None}, {-5, 5}, {100, 110}, {150, 170}, {199, 228},
		{200, 250}, {250, 275}, {300, 300}, {1000, 1000}} {
		if got := Common(c.at, syncs); got != c.want {
			t.Errorf("%d is %d on the common clock, want %d", c.at, got, c.want)
		}
	}
	if got := Common(7, nil); got != 7 {
		t.Errorf("without comparisons 7 became %d", got)
	}
}
