package collect

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// After all tests nothing is left behind: no goroutine, no open file.
func TestMain(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid.checks" })
	if !set { // each starts servers: fewer than usual
		if err := flag.Set("rapid.checks", "8"); err != nil {
			panic(err)
		}
	}
	goroutines, files := runtime.NumGoroutine(), openFiles()
	code := m.Run()
	if code == 0 && flag.Lookup("test.fuzz").Value.String()+flag.Lookup("test.bench").Value.String() == "" {
		if left := leftOver(goroutines, files+2); left != "" { // the poller of the runtime has two
			fmt.Println(left)
			code = 1
		}
	}
	os.Exit(code)
}

// openFiles is how many files the process has open; 0 where that is not known.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// leftOver waits until there are no more goroutines and open files than given, and tells
// of those that stay.
func leftOver(goroutines, files int) string {
	var g, f int
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if g, f = runtime.NumGoroutine(), openFiles(); g <= goroutines && f <= files {
			return ""
		}
	}
	stacks := make([]byte, 1<<16)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return fmt.Sprintf("%d goroutines, %d before; %d open files, %d before\n%s", g, goroutines, f, files, stacks)
}
