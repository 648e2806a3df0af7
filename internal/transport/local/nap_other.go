//go:build !linux

package local

import "time"

// nap sleeps as well as the system can.
func nap(d time.Duration) { time.Sleep(d) }
