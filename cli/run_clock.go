package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/crew"
)

// clockOptions say how the clocks of the processes of a run are compared.
type clockOptions struct {
	sync      string
	precision time.Duration
	drift     float64 // ppm
	skew      string
}

// clockSyncs are the choices of --clock-sync.
var clockSyncs = []string{"periodic", "start", "off"}

// clockFlags are the flags that make sense in runs of several processes only.
var clockFlags = []string{"clock-sync", "clock-precision", "clock-drift"}

func (o *clockOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.sync, "clock-sync", clockSyncs[0], "under mpirun, compare the clocks of all processes"+
		" with that of rank 0: `when` is periodic, start (and at the end), or off")
	f.DurationVar(&o.precision, "clock-precision", 20*time.Microsecond, "maximum `difference` between"+
		" the clocks of processes; this and the drift decide how often they are compared")
	f.Float64Var(&o.drift, "clock-drift", 20, "maximum drift between two clocks, in `ppm`"+
		" (microseconds per second)")
	f.StringVar(&o.skew, "clock-skew", "", "spoil clocks, for tests: `NODE=OFFSET[,PPM];...`")
	f.Lookup("clock-skew").Hidden = true
}

// check finds what is wrong with the flags.
func (o *clockOptions) check(f *pflag.FlagSet, many bool) error {
	if !many {
		for _, flag := range clockFlags {
			if f.Changed(flag) {
				return console.Misuse("run: --%s: the nodes of one process have one clock; it is for runs"+
					" started by mpirun", flag)
			}
		}
		return nil
	}
	if err := checkChoice("run", "clock-sync", o.sync, clockSyncs...); err != nil {
		return err
	}
	switch {
	case o.precision < time.Microsecond:
		return console.Misuse("run: --clock-precision=%v: give a duration of 1us or more", o.precision)
	case !(o.drift >= 0.001 && o.drift <= 10_000):
		return console.Misuse("run: --clock-drift=%v: give 0.001 to 10000 ppm", o.drift)
	}
	return nil
}

// spoil makes this process's clock wrong if --clock-skew names its rank, before anybody reads the clock.
func (o *clockOptions) spoil() error {
	if o.skew == "" {
		return nil
	}
	rank, _ := crew.Place()
	for _, part := range strings.Split(o.skew, ";") {
		node, offset, ppm, err := parseSkew(part)
		if err != nil {
			return console.Misuse("run: --clock-skew: %v", err)
		}
		if node == rank {
			if err := clock.Skew(offset, ppm); err != nil {
				return console.Exit(console.BadUsage, fmt.Errorf("run: --clock-skew: %w", err))
			}
		}
	}
	return nil
}

// parseSkew reads NODE=OFFSET[,PPM].
func parseSkew(s string) (node int, offset time.Duration, ppm float64, err error) {
	name, value, _ := strings.Cut(s, "=")
	wrong := fmt.Errorf("%q: use NODE=OFFSET[,PPM], such as 1=20ms,-30", s)
	if node, err = strconv.Atoi(name); err != nil || node < 0 {
		return 0, 0, 0, wrong
	}
	first, rest, more := strings.Cut(value, ",")
	if offset, err = time.ParseDuration(first); err != nil {
		return 0, 0, 0, wrong
	}
	if more {
		if ppm, err = strconv.ParseFloat(rest, 64); err != nil {
			return 0, 0, 0, wrong
		}
	}
	return node, offset, ppm, nil
}
