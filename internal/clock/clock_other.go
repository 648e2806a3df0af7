//go:build !amd64

package clock

// Now returns the time in nanoseconds since the clock's origin.
func Now() int64 { return nanotime() - start }

func calibrate()    {}
func usesTSC() bool { return false }
func params() Params {
	return Params{Base: -start}
}
