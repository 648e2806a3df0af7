package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/words"
)

type serveOptions struct {
	page    pageOptions
	dir     string
	forward string
	token   string // of the collector forwarded to
	ca      string
	limits  collect.Limits
	runMax  string
	allMax  string
	keep    string // how long; "": for ever
	maxSize string // of all runs, before the oldest are removed
	// of one address
	addressMax string
}

func serveCommand(io console.IO) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Collect runs from other machines, keep them as traces and show them live",
		Long: `Listen for runs started with whyslow run --to HOST:PORT, store what they send as ordinary traces in a
folder, and show them live on a page. Runs collected earlier are shown too; interrupted ones continue
where they stopped.

The page lists all runs, and plots a figure over the runs of a program. Anyone with the token can
delete runs there. --keep and --max-size remove old runs; runs that are being sent are never removed.

--forward also sends everything to another collector: use one for each group of nodes, and one for
all groups.

Addresses that other computers can reach need --token or --insecure. The address of the page is
printed on standard output; Ctrl+C ends the collector.
` + exitCodes(1, 2),
		Example: `  whyslow serve --dir runs
  WHYSLOW_TOKEN=secret whyslow serve --listen :7568 --dir runs
  WHYSLOW_TOKEN=secret whyslow serve --listen :7568 --dir runs --keep 30d --max-size 200G
  whyslow serve --listen :7569 --token secret --forward head:7568 --dir group1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.page.check("serve", cmd.Flags()); err != nil {
				return err
			}
			return serve(cmd.Context(), io, &o)
		},
	}
	f := cmd.Flags()
	o.page.addTo(f, fmt.Sprintf("127.0.0.1:%d", api.DefaultPort))
	o.page.memory.addTo(f)
	f.StringVarP(&o.dir, "dir", "d", ".", "`folder` for the traces")
	f.StringVar(&o.forward, "forward", "", "also send everything to the collector at `HOST:PORT`")
	f.StringVar(&o.token, "forward-token", "", "access `token` for that collector (default: --token)")
	f.StringVar(&o.ca, "forward-ca", "", "`file` with the certificate of that collector; TLS, as with"+
		" --forward https://HOST:PORT")
	o.limits = collect.DefaultLimits()
	f.IntVar(&o.limits.Sockets, "max-sockets", o.limits.Sockets, "maximum `connections` of any kind at once")
	f.IntVar(&o.limits.Connections, "max-senders", o.limits.Connections, "maximum `senders` at once")
	f.IntVar(&o.limits.PerAddress, "max-per-address", o.limits.PerAddress, "maximum `senders` at once from one"+
		" address")
	f.IntVar(&o.limits.Runs, "max-runs", o.limits.Runs, "maximum `runs` kept in the folder")
	f.StringVar(&o.runMax, "max-run-bytes", fmt.Sprint(o.limits.RunBytes), "maximum `bytes` kept of a run,"+
		" such as 50G")
	f.StringVar(&o.allMax, "max-bytes", fmt.Sprint(o.limits.AllBytes), "maximum `bytes` kept in the folder")
	f.IntVar(&o.limits.AddressRuns, "max-address-runs", o.limits.AddressRuns, "maximum `runs` kept that one"+
		" address began")
	f.StringVar(&o.addressMax, "max-address-bytes", fmt.Sprint(o.limits.AddressBytes),
		"maximum `bytes` kept of the runs that one address began")
	f.StringVar(&o.keep, "keep", "", "remove runs for which nothing has arrived for this `time`, such"+
		" as 30d, 2w or 12h (default: never)")
	f.StringVar(&o.maxSize, "max-size", "", "while all runs together take more than this many `bytes`, such as"+
		" 200G, remove the oldest (default: never)")
	f.DurationVar(&o.limits.Idle, "idle", o.limits.Idle, "drop a sender that stays silent for this `time`")
	return cmd
}

// closeWait bounds how long the collector tells its senders that it ends. It suits busy machines; a second
// Ctrl+C ends at once. What they sent is on the disk by then.
const closeWait = 30 * time.Second

func serve(ctx context.Context, io console.IO, o *serveOptions) error {
	var keep time.Duration
	var maxSize int64
	if o.keep != "" {
		var err error
		if keep, err = words.ParseAge(o.keep); err != nil {
			return console.Misuse("serve: --keep=%s: %w", o.keep, err)
		}
	}
	for _, size := range []struct {
		flag, text string
		to         *int64
	}{{"max-run-bytes", o.runMax, &o.limits.RunBytes}, {"max-bytes", o.allMax, &o.limits.AllBytes},
		{"max-address-bytes", o.addressMax, &o.limits.AddressBytes}, {"max-size", o.maxSize, &maxSize}} {
		if size.text == "" && size.flag == "max-size" {
			continue
		}
		v, err := words.ParseBytes(size.text)
		if err != nil {
			return console.Misuse("serve: --%s=%s: give bytes, such as 50G", size.flag, size.text)
		}
		*size.to = int64(v)
	}
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return badInput(err)
	}
	if most := int64(o.page.memory.Budget) / 4; most > 0 {
		o.limits.Memory = min(o.limits.Memory, most)
	}
	runs := live.NewSet()
	runs.Limit(o.page.memory.Budget)
	defer runs.Close()
	var collector *collect.Collector
	show := func(dir string) {
		alive := func() (bool, bool) {
			sending := collector.Sending(dir)
			return sending, sending // else it may come back
		}
		if _, err := runs.Add(dir, live.Options{Memory: o.page.ofRun(), Spill: true, Alive: alive}); err != nil {
			io.Say("warning: %v", console.FileError(err))
		}
	}
	cfg := collect.Config{
		Dir: o.dir, Token: o.page.token, Version: readVersion().Version, Limits: o.limits, OnRun: show,
		Notify: func(line string) { io.Say("%s", line) },
		Keep:   keep, MaxSize: maxSize, OnRemoved: runs.Remove,
	}
	if o.forward != "" {
		target, err := stream.ParseTarget(o.forward)
		if err != nil {
			return console.Misuse("serve: --forward: %w", err)
		}
		target.Token = cmp.Or(o.token, o.page.token)
		if o.ca != "" {
			if err := target.TrustFile(o.ca); err != nil {
				return badInput(err)
			}
		}
		cfg.Forward = target
	}
	collector, err := collect.New(cfg)
	if err != nil {
		return badInput(err)
	}
	for _, r := range collector.Runs() {
		show(r.Dir)
	}
	o.page.limits = o.limits
	p, err := o.page.serve(io, api.Config{Runs: runs, Collector: collector})
	if err != nil {
		return cmp.Or(collector.Close(), err)
	}
	fmt.Fprintln(io.Out, p.url)
	io.Say("runs started with --to %s go to %s; Ctrl+C ends", p.address, o.dir)
	err = p.until(ctx)
	done := make(chan error, 1)
	go func() { done <- collector.Close() }()
	select {
	case closeErr := <-done:
		return cmp.Or(err, badInput(closeErr))
	case <-time.After(closeWait):
		return cmp.Or(err, console.Exit(console.BadUsage, fmt.Errorf("the collector did not shut down")))
	}
}
