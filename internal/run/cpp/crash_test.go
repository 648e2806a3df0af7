//go:build cgo && linux

package cpp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
)

const childFlag = "cpp-child"

func TestOutcomes(t *testing.T) {
	f := get(t, crashFixture)
	for how, want := range []string{
		"3 6 aborted (SIGABRT)",
		"3 11 segmentation fault (SIGSEGV): access to address 0x10 in crash",
		"3 8 arithmetic exception, such as a division of integers by zero (SIGFPE) in crash",
		"3 4 illegal instruction (SIGILL) in crash",
		"3 6 aborted (SIGABRT)",
		"3 6 aborted (SIGABRT)",
		"3 11 segmentation fault (SIGSEGV): the stack ran over",
		"3 11 segmentation fault (SIGSEGV)",
		"3 6 aborted (SIGABRT)",
		"3 11 segmentation fault (SIGSEGV) in crash",
		"1 3 called exit(3)",
		"1 4 called _exit(4)",
		"1 5 called _Exit(5)",
		"1 6 called quick_exit(6)",
		"1 0 called exit(0)",
		"4 0 threw an exception, std::runtime_error: went wrong",
		"4 0 threw an exception, std::string: a string",
		"4 0 threw an exception, const char*: a C string",
		"4 0 threw an exception, int: 42",
		"4 0 threw an exception, luna::ucenv::DF",
		"4 0 threw an exception, std::out_of_range: vector::_M_range_check: __n (which is 3) >= this->size() " +
			"(which is 0)",
	} {
		// Twice: a signal must not stay blocked, the stack guard must be there again.
		for range 2 {
			var tm Times
			before := clock.Now()
			o := Call(f.fn("crash"), []Value{IntValue(int32(how))}, &tm, true)
			got := fmt.Sprintf("%d %d %v", o.Kind, o.Code, o)
			if want == "3 11 segmentation fault (SIGSEGV): the stack ran over" {
				got, _, _ = strings.Cut(got, " in ")
			}
			if got != want {
				t.Errorf("%d: got %q, want %q", how, got, want)
			}
			if tm.Start < before || tm.End < tm.Start || tm.End > clock.Now() || tm.CPU < 0 {
				t.Errorf("%d: times %+v, called at %d", how, tm, before)
			}
		}
	}
}

// Every thread that ever runs user code survives its crashes, and other threads do not notice.
func TestConcurrentCrashes(t *testing.T) {
	f := get(t, crashFixture)
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 200 {
				var tm Times
				if w%2 == 0 {
					how := []int32{1, 2, 3, 7}[i%4]
					if o := Call(f.fn("crash"), []Value{IntValue(how)}, &tm, false); o.Kind != Signalled {
						t.Error(o)
					}
				} else {
					args := []Value{IntValue(int32(i)), {}}
					if o := Call(f.fn("out1"), args, &tm, false); o.Kind != Done || args[1].Int() != int32(i) {
						t.Error(o, args[1])
					}
				}
			}
		})
	}
	wg.Wait()
}

// Go's own faults stay Go's, on threads that have run and survived user code.
func TestGoFaults(t *testing.T) {
	f := get(t, crashFixture)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var tm Times
	Call(f.fn("crash"), []Value{IntValue(1)}, &tm, false)
	fault := func(g func()) (r any) {
		defer func() { r = recover() }()
		g()
		return nil
	}
	var p *int
	if r := fault(func() { *p = 1 }); !strings.Contains(fmt.Sprint(r), "nil pointer") {
		t.Errorf("got %v", r)
	}
	zero := 0
	if r := fault(func() { zero = 1 / zero }); !strings.Contains(fmt.Sprint(r), "divide by zero") {
		t.Errorf("got %v", r)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	v := Value{Type: Block, Bits: 1 << 40}
	if r := fault(func() { zero = int(v.head().refs) }); !strings.Contains(fmt.Sprint(r),
		"invalid memory address") && !strings.Contains(fmt.Sprint(r), "unexpected fault") {
		t.Errorf("got %v", r)
	}
}

func TestForeignThreads(t *testing.T) {
	f := get(t, crashFixture)
	got := make(chan string, 1)
	OnForeignCrash(func(sig int, msg string) { got <- fmt.Sprint(sig, " ", msg) })
	for how, want := range []string{
		"11 segmentation fault (SIGSEGV)",
		"6 aborted (SIGABRT)",
		"6 Cannot getSize(), df is unset",
		"0 exit(9) was called",
		"6 aborted (SIGABRT)",
	} {
		f.call(t, "later", IntValue(int32(how)))
		select {
		case s := <-got:
			if s != want {
				t.Errorf("%d: got %q, want %q", how, s, want)
			}
		case <-time.After(10 * time.Minute):
			t.Errorf("%d: nothing was reported", how)
		}
		f.call(t, "empty")
	}
}

func TestTimes(t *testing.T) {
	f := get(t, crashFixture)
	var tm Times
	Call(f.fn("spin"), []Value{IntValue(2000)}, &tm, true)
	if d := tm.End - tm.Start; d < 1990e3 || tm.CPU > d+1e5 || tm.CPU < 1990e3 {
		t.Errorf("spinning for 2 ms: %v ns, processor %v ns", d, tm.CPU)
	}
	Call(f.fn("nap"), []Value{IntValue(5000)}, &tm, true)
	if d := tm.End - tm.Start; d < 4990e3 || tm.CPU > d/2 || tm.CPU < 0 {
		t.Errorf("sleeping for 5 ms: %v ns, processor %v ns", d, tm.CPU)
	}
	Call(f.fn("empty"), nil, &tm, false)
	if tm.CPU != -1 {
		t.Errorf("processor time %d, want -1", tm.CPU)
	}
}

func TestCallAllocatesNothing(t *testing.T) {
	f := get(t, crashFixture)
	fn := f.fn("empty2")
	args := []Value{AllocBlock(8), AllocBlock(8)}
	defer args[0].Release()
	defer args[1].Release()
	var tm Times
	if n := testing.AllocsPerRun(100, func() { Call(fn, args, &tm, false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// makeThreads has new threads made, by this thread and by others. None ends: what malloc keeps for a thread
// may be damaged.
func makeThreads() {
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			for range 10 {
				syscall.Nanosleep(&syscall.Timespec{Nsec: 1e5}, nil) // blocks the thread
			}
		})
		for end := time.Now().Add(100 * time.Microsecond); time.Now().Before(end); { // who goes on needs a thread
			runtime.Gosched()
		}
	}
	all.Wait()
}

// child runs in a process of its own what ends processes.
func child(what string) {
	f, err := open("testdata/crash", program(crashRoutines...))
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	var tm Times
	switch what {
	case "close": // static destructors and buffered output
		s := NewString("destroyed")
		Call(f.fn("print"), []Value{NewString("printed")}, &tm, false)
		Call(f.fn("mark"), []Value{s}, &tm, false)
		if err := f.Close(); err != nil {
			fmt.Println(err)
		}
	case "exit": // what was printed before exit is not lost, and what exit does is done
		Call(f.fn("mark"), []Value{NewString(", destroyed")}, &tm, false)
		Call(f.fn("crash"), []Value{IntValue(10)}, &tm, false)
		f.Close()
	case "crash": // after a crash within printf nobody waits for stdout's lock, and no destructor runs
		Call(f.fn("mark"), []Value{NewString("destroyed")}, &tm, false)
		Call(f.fn("locked"), nil, &tm, false)
		done := make(chan bool)
		go func() {
			runtime.LockOSThread()
			f.Close()
			close(done)
		}()
		<-done
		fmt.Println("end")
	case "heap1", "heap2", "heap3": // no lock of malloc is waited for, and new threads can be made
		o := Call(f.fn("crash"), []Value{IntValue(int32(20 + what[4] - '0'))}, &tm, false)
		makeThreads()
		for range 20 {
			v := AllocBlock(6000)
			v.Release()
		}
		f.Close()
		fmt.Println("end", o)
	case "thread_local": // keeps the library from being unloaded
		Call(f.fn("scratch"), nil, &tm, false)
		Call(f.fn("mark"), []Value{NewString("destroyed")}, &tm, false)
		f.Close()
		_, err := open("testdata/crash", program(crashRoutines...))
		fmt.Println(err)
	case "constructor": // the loader is locked for ever: nothing waits for it
		_, err := open("testdata/constructor", program("mark s"))
		fmt.Println(err)
		var threads sync.WaitGroup
		for range 20 {
			threads.Go(func() {
				runtime.LockOSThread() // the thread ends with the goroutine
				time.Sleep(time.Millisecond)
			})
		}
		threads.Wait()
		fmt.Println("end")
	case "foreign": // nobody listens
		Call(f.fn("later"), []Value{IntValue(0)}, &tm, false)
		time.Sleep(time.Hour) // it ends before
	case "panic": // Go's report of a fault in Go is as always
		Call(f.fn("crash"), []Value{IntValue(1)}, &tm, false)
		var p *int
		*p = 1
	}
	// os.Exit of a program with the race detector calls C's exit, which would wait for stdout's lock
	syscall.Exit(0)
}

func TestProcesses(t *testing.T) {
	get(t, crashFixture)
	for _, c := range []struct {
		what, out string
		code      int
	}{
		{"close", "printed\ndestroyed\n", 0},
		{"exit", "printed before exit, destroyed\n", 0},
		{"crash", "end\n", 0},
		{"heap1", "end ", 0},
		{"heap2", "end ", 0},
		{"heap3", "end ", 0},
		{"thread_local", "destroyed\nthe program's C++ code cannot be loaded twice in one process, because", 0},
		{"foreign", "a thread started by the program's C++ code ended the program: segmentation fault " +
			"(SIGSEGV)\n", 1},
		{"constructor", "the program's C++ code failed while it was being loaded (a static object's constructor): " +
			"segmentation fault (SIGSEGV): access to address 0x8\nend\n", 0},
		{"panic", "panic: runtime error: invalid memory address or nil pointer dereference\n", 2},
	} {
		t.Run(c.what, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], childFlag, c.what)
			out, _ := cmd.CombinedOutput()
			text := strings.TrimLeft(string(out), "\n") // a destructor may have printed an empty line
			if !strings.HasPrefix(text, c.out) || cmd.ProcessState.ExitCode() != c.code {
				t.Errorf("exit code %d, output:\n%s", cmd.ProcessState.ExitCode(), out)
			}
		})
	}
}

func BenchmarkCall(b *testing.B) {
	f, err := openOptimized("testdata/crash", program(crashRoutines...), "-O3")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("cgo", func(b *testing.B) { // what any call into C costs
		for b.Loop() {
			Live()
		}
	})
	block := AllocBlock(64)
	defer block.Release()
	m := NewMeter()
	defer m.Close()
	for _, c := range []struct {
		name, fn string
		args     []Value
		what     Measure
	}{
		{"empty", "empty", nil, Nothing},
		{"empty,cpu", "empty", nil, Each},
		{"2inputs", "empty2", []Value{block, block}, Nothing},
		{"int,out", "out1", []Value{IntValue(1), {}}, Nothing},
	} {
		b.Run(c.name, func(b *testing.B) {
			fn := f.fn(c.fn)
			var tm Times
			b.ReportAllocs()
			for b.Loop() {
				m.Call(fn, c.args, &tm, 0, c.what)
			}
		})
	}
	b.Run("block,create+release", func(b *testing.B) {
		fn := f.fn("out_block")
		args := []Value{IntValue(64), {}}
		var tm Times
		for b.Loop() {
			m.Call(fn, args, &tm, 0, Nothing)
			args[1].Release()
		}
	})
}
