// Command experiments shows that the factors follow what they are said to follow: starvation the number of chains that can run
// at once, overhead the number of CFs the same work is cut into, latency the size of the DFs that travel; and how a real
// program, particle in cell, fares on one node and on four.
//
//	go run ./examples/experiments [flags] [starvation|overhead|latency|pic]...
//
// It ends with code 1 if something is not as expected.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/term"

	"github.com/whyslow/whyslow/internal/experiment"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "experiments: interrupted; nothing was written")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "experiments:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	opt := experiment.Options{}
	flag.StringVar(&opt.Whyslow, "whyslow", "", "the whyslow to use (default: built from ./cmd/whyslow)")
	flag.IntVar(&opt.Repeats, "repeats", 0, "runs of each point (default: 5)")
	flag.BoolVar(&opt.Quick, "quick", false, "small sizes, to see that everything works")
	page := flag.String("page", "", "page to put the results in, such as docs/experiments.md; figures go beside it")
	asJSON := flag.String("json", "", "`file` for all runs as JSON, - for standard output")
	flag.Parse()
	if err := experiment.CheckNames(flag.Args()); err != nil {
		return err
	}
	if opt.Whyslow == "" {
		dir, err := os.MkdirTemp("", "experiments-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		opt.Whyslow = filepath.Join(dir, "whyslow")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", opt.Whyslow, "./cmd/whyslow").CombinedOutput(); err != nil {
			return fmt.Errorf("building whyslow (-whyslow names one that is built): %w\n%s", err, out)
		}
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		opt.Progress = func(done, all int, what string) { fmt.Fprintf(os.Stderr, "\r\x1b[K%d of %d: %s", done+1, all, what) }
	}
	r, err := experiment.Execute(ctx, flag.Args(), opt)
	if opt.Progress != nil {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	if err != nil {
		return err
	}
	if err := write(r, *page, *asJSON); err != nil {
		return err
	}
	if !r.Holds() {
		return errors.New("not everything is as expected")
	}
	return nil
}

func write(r *experiment.Report, page, asJSON string) error {
	if page != "" {
		if err := r.WritePage(page); err != nil {
			return err
		}
	}
	if asJSON != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		text = append(text, '\n')
		if asJSON == "-" {
			_, err = os.Stdout.Write(text)
			return err
		}
		if err := experiment.WriteFile(asJSON, string(text)); err != nil {
			return err
		}
	}
	return r.Text(os.Stdout)
}
