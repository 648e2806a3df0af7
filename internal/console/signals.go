package console

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Asked returns a context that ends when the process is asked to end: by Ctrl+C or Ctrl+\, by kill, or
// because its terminal has gone. stop gives the signals back. Under nohup a terminal that goes asks for
// nothing. With WHYSLOW_DEBUG=1, Ctrl+\ prints Go's stacks as usual.
func Asked(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	asking := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		asking = append(asking, syscall.SIGHUP)
	}
	if !debugging() {
		asking = append(asking, syscall.SIGQUIT)
	}
	return signal.NotifyContext(ctx, asking...)
}

// AskedAgain makes the next Ctrl+\ end the process silently, as the next Ctrl+C does by itself.
func AskedAgain() {
	if debugging() {
		return
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGQUIT)
	go func() {
		<-again
		DieBy(syscall.SIGQUIT)
	}()
}

func debugging() bool { return os.Getenv("WHYSLOW_DEBUG") == "1" }
