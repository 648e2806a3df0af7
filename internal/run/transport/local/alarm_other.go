//go:build !linux

package local

import "time"

// alarm sleeps as well as Go can, in slices, since nobody wakes it.
type alarm struct{}

const slice = 100 * time.Microsecond

func newAlarm() alarm             { return alarm{} }
func (alarm) nap(d time.Duration) { time.Sleep(min(d, slice)) }
func (alarm) ring()               {}
func (alarm) close()              {}
