package procs

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
)

// Guard calls do and makes an error of a panic: a line for the user, who has no use for a stack. With
// WHYSLOW_DEBUG=1 in the environment standard error gets the stack.
func Guard(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			p := caught(cause)
			if os.Getenv("WHYSLOW_DEBUG") == "1" {
				fmt.Fprintf(os.Stderr, "%v\n%s", p.cause, p.stack)
			}
			err = fmt.Errorf("internal error: %v (WHYSLOW_DEBUG=1 shows where)", p.cause)
		}
	}()
	return do()
}

// caughtPanic is a panic with the stack of the goroutine that it happened in.
type caughtPanic struct {
	cause any
	stack []byte
}

// caught takes up a panic that was recovered, perhaps one of another goroutine.
func caught(cause any) *caughtPanic {
	if p, ok := cause.(*caughtPanic); ok {
		return p
	}
	return &caughtPanic{cause, debug.Stack()}
}

// Goroutines is a sync.WaitGroup for goroutines that work for one caller: where one of them panics, Wait
// panics in the caller, so that a Guard around the caller sees it. The zero value is ready for use.
type Goroutines struct {
	wg    sync.WaitGroup
	once  sync.Once
	cause *caughtPanic
}

// Go calls f in a goroutine.
func (g *Goroutines) Go(f func()) {
	g.wg.Go(func() {
		defer func() {
			if cause := recover(); cause != nil {
				p := caught(cause)
				g.once.Do(func() { g.cause = p })
			}
		}()
		f()
	})
}

// Wait waits for all goroutines and panics if one of them did.
func (g *Goroutines) Wait() {
	g.wg.Wait()
	if g.cause != nil {
		panic(g.cause)
	}
}
