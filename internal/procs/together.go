package procs

import (
	"errors"
	"fmt"
)

// Together calls do at every member, with a group like g. Where do fails at one member, the next exchange of
// each other one fails too, so nobody waits in vain. All members leave Together at the same time, all with
// nil or all with an error, and can use g further. A member at which do fails gets its own error, the others
// that of the first member that failed. A panic is a failure (Guard). For a group of nil or of one that is
// all there is.
func Together(g Group, do func(g Group) error) error {
	if g == nil || g.Size() == 1 {
		return Guard(func() error { return do(g) })
	}
	w := &watched{Group: g}
	err := Guard(func() error { return do(w) })
	if w.failed != nil {
		return w.failed
	}
	// This one's end meets the end of the others, or an exchange of theirs.
	state, text := memberEnds, ""
	if err != nil {
		state, text = memberFailed, err.Error()
	}
	other := w.meet(state, text)
	if err != nil {
		return err
	}
	return other
}

// What a member tells the others before each exchange, and when it is done.
const (
	memberGoesOn byte = iota
	memberEnds
	memberFailed
)

// watched is a group whose members tell each other when they fail.
type watched struct {
	Group
	failed error // elsewhere, and everybody knows
}

// Exchange implements Group.
func (w *watched) Exchange(out [][]byte) ([][]byte, error) {
	if w.failed == nil {
		w.failed = w.meet(memberGoesOn, "")
	}
	if w.failed != nil {
		return nil, w.failed
	}
	in, err := w.Group.Exchange(out)
	w.failed = err
	return in, err
}

// meet tells all how this member is, and returns an error where another one has failed, or is somewhere else.
func (w *watched) meet(state byte, text string) error {
	in, err := AllGather(w.Group, append([]byte{state}, text...))
	if err != nil {
		return err
	}
	for i, b := range in {
		if len(b) > 0 && b[0] == memberFailed && i != w.Rank() {
			return fmt.Errorf("process %d: %s", i, b[1:])
		}
	}
	for _, b := range in {
		if len(b) == 0 || b[0] != state {
			return errors.New("internal error: the processes are not in step")
		}
	}
	return nil
}
