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
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/run/crew"
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
func (o *sendOptions) check(f *pflag.FlagSet, c *crew.Crew) error {
	if !f.Changed("to") {
		return without("run", f, "to", "to-token", "to-tls", "to-ca", "to-wait")
	}
	if o.wait < 0 {
		return console.Misuse("run: --to-wait=%v: cannot be negative", o.wait)
	}
	for _, to := range strings.Split(o.to, ",") {
		target, err := stream.ParseTarget(to)
		if err != nil {
			return console.Misuse("run: --to: %w", err)
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
	if n := len(o.targets); n > c.Size() {
		return console.Misuse(
			"run: --to: %d collectors for %d processes: each needs one at least (mpirun -n)", n, c.Size())
	}
	return nil
}
