package cli

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/recording"
	"github.com/whyslow/whyslow/internal/record/stream"
)

// sendOptions say to which collector a run is sent while it goes on.
type sendOptions struct {
	to    string // "": to none
	token string
	ca    string
	tls   bool
	wait  time.Duration

	targets []stream.Target // one, or one for each group of processes
}

func (o *sendOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.to, "to", "", "send the run, as it executes, to the collector at `HOST:PORT` (whyslow"+
		" serve); under mpirun several, separated by commas, which share the ranks evenly")
	f.StringVar(&o.token, "to-token", "", "access `token` for the collector (default: $"+console.Tokens+")")
	f.BoolVar(&o.tls, "to-tls", false, "send with TLS, as with --to https://HOST:PORT")
	f.StringVar(&o.ca, "to-ca", "", "`file` with the certificate of the collector, if the system does not"+
		" trust it; TLS")
	f.DurationVar(&o.wait, "to-wait", 10*time.Second, "at the end, `time` to wait for events still to be sent")
}

// on tells whether the run is sent.
func (o *sendOptions) on() bool { return o.to != "" }

// check finds what is wrong with the flags, and the collector's address.
func (o *sendOptions) check(verb string, f *pflag.FlagSet, processes int) error {
	if o.to == "" && !f.Changed("to") {
		return without(verb, f, "to", "to-token", "to-tls", "to-ca", "to-wait")
	}
	if o.wait < 0 {
		return console.Misuse("%s: --to-wait=%v: cannot be negative", verb, o.wait)
	}
	for _, to := range strings.Split(o.to, ",") {
		target, err := stream.ParseTarget(to)
		if err != nil {
			return console.Misuse("%s: --to: %w", verb, err)
		}
		target.Token = cmp.Or(o.token, os.Getenv(console.Tokens))
		if o.tls && target.TLS == nil {
			target.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		if o.ca != "" {
			if err := target.TrustFile(o.ca); err != nil {
				return badInput(fmt.Errorf("--to-ca: %w", console.FileError(err)))
			}
		}
		o.targets = append(o.targets, target)
	}
	switch n := len(o.targets); {
	case n <= processes:
		return nil
	case processes == 1 && verb != "run":
		return console.Misuse("%s: --to: give one collector", verb)
	default:
		return console.Misuse(
			"%s: --to: %d collectors for %d processes: each needs one at least (mpirun -n)", verb, n, processes)
	}
}

// sends says the same to those who record.
func (o *sendOptions) sends() *recording.Send {
	return &recording.Send{Targets: o.targets, Wait: o.wait, Version: readVersion().Version}
}

// takeFromEnvironment takes the collector that WHYSLOW_TO names, unless a flag does.
func (o *sendOptions) takeFromEnvironment() { o.to = cmp.Or(o.to, os.Getenv(console.Collectors)) }
