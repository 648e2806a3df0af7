//go:build !amd64

package main

import "github.com/whyslow/whyslow/internal/clock"

// rdtsc stands for the time-stamp counter if there is none that programs can read.
func rdtsc() uint64 { return uint64(clock.Now()) }
