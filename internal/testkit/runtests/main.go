// Runtests runs commands of go test and says little while all is well: a line for each command, the ten
// slowest tests and a sum. Whatever did not pass is printed in full, as soon as its package has ended.
// It exits with 1 then.
//
//	go run ./internal/testkit/runtests [NAME=VALUE...] ARGUMENTS [-- [NAME=VALUE...] ARGUMENTS]...
//
// Each group of arguments is one run of go test, with these variables added to its environment. Two run at a
// time, begun in their order: most tests wait more than they compute, so one alone leaves cores idle.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// event is a line of go test -json; go doc test2json says what it means.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // seconds
}

// timed is a test, or a package without its tests' names, and how long it took.
type timed struct {
	name    string
	seconds float64
}

// counts are numbers of tests by how they ended.
type counts struct{ passed, failed, skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

// add counts a test, or what is no end of one.
func (c *counts) add(action string) {
	switch action {
	case "pass":
		c.passed++
	case "fail":
		c.failed++
	case "skip":
		c.skipped++
	}
}

// summary is about all commands.
type summary struct {
	out io.Writer

	mu     sync.Mutex // guards the following, and keeps what is printed together
	counts counts
	slow   []timed
}

const (
	slowest  = 10  // tests that are listed
	together = 2   // commands that run at a time
	longest  = 100 // bytes shown of a command
)

func main() { os.Exit(run(os.Args[1:])) }

// run runs the commands and returns the exit code.
func run(arguments []string) int {
	s := &summary{out: os.Stdout}
	began := time.Now()
	var commands [][]string
	for rest := arguments; len(rest) > 0; {
		end := slices.Index(rest, "--")
		if end < 0 {
			commands = append(commands, rest)
			break
		}
		commands, rest = append(commands, rest[:end]), rest[end+1:]
	}
	defer keepSessions()()
	var running sync.WaitGroup
	free := make(chan struct{}, together)
	for _, words := range commands {
		free <- struct{}{}
		running.Go(func() {
			if err := s.run(words); err != nil {
				s.print(err.Error(), "\n")
				s.count("fail")
			}
			<-free
		})
	}
	running.Wait()
	s.close()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used); err == nil {
		cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
		fmt.Printf("%v, and %v of processor time\n", time.Since(began).Round(time.Second), cpu.Round(time.Second))
	}
	if s.counts.failed > 0 {
		return 1
	}
	return 0
}

// keepSessions keeps the folder in which all of a user's Open MPI jobs have theirs. A job that ends removes
// it if it is empty, so one that starts at that moment may fail: two of ours did on a busy machine. The
// function returned gives it up.
func keepSessions() func() {
	host, err := os.Hostname()
	if err != nil {
		return func() {}
	}
	host, _, _ = strings.Cut(host, ".")
	sessions := filepath.Join(os.TempDir(), fmt.Sprintf("ompi.%s.%d", host, os.Getuid()))
	if err := os.MkdirAll(sessions, 0o700); err != nil {
		return func() {}
	}
	kept, err := os.MkdirTemp(sessions, "tests")
	if err != nil {
		return func() {}
	}
	return func() {
		os.Remove(kept)
		os.Remove(sessions) // fails, as it should, if others use it
	}
}

// print prints text as a whole, whatever other commands print.
func (s *summary) print(text ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.out, text...)
}

func (s *summary) count(action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.add(action)
}

// run runs go test once. The error is of running it; tests that fail are counted.
func (s *summary) run(words []string) error {
	var env []string
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") && strings.Contains(words[0], "=") {
		env, words = append(env, words[0]), words[1:]
	}
	began := time.Now()
	first := 0
	if len(words) > 1 && words[0] == "-C" { // which go wants first
		first = 2
	}
	cmd := exec.Command("go", slices.Concat([]string{"test"}, words[:first], []string{"-json"},
		words[first:])...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	packages, own, err := s.read(out)
	if err != nil {
		return err
	}
	err = cmd.Wait()
	line := strings.Join(append(env, words...), " ")
	if len(line) > longest {
		line = line[:longest] + "…"
	}
	s.print(fmt.Sprintf("go test %s\n    %d packages in %.0f s: %v\n", line, packages,
		time.Since(began).Seconds(), own))
	if err != nil && own.failed == 0 { // it does not build, or there is no such package
		return fmt.Errorf("go test %s: %w", strings.Join(words, " "), err)
	}
	return nil
}

// read counts the tests in the output of go test -json, and prints what did not pass. It returns how many
// packages there were, and how their tests ended.
func (s *summary) read(in io.Reader) (packages int, own counts, err error) {
	type test struct{ pkg, name string }
	said := map[test][]string{} // of tests that have not passed yet, and of packages
	var order []test
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF && line == "" {
			return packages, own, nil
		} else if err != nil && err != io.EOF {
			return packages, own, err
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			s.print(line)
			continue
		}
		it := test{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			s.print(e.Output)
		case "output":
			if said[it] == nil {
				order = append(order, it)
			}
			said[it] = append(said[it], e.Output)
		case "pass", "skip", "fail":
			s.mu.Lock()
			s.slow = append(s.slow, timed{strings.TrimSuffix(e.Package+" "+e.Test, " "), e.Elapsed})
			s.mu.Unlock()
			if e.Test != "" {
				own.add(e.Action)
				s.count(e.Action)
			}
			if e.Action != "fail" {
				delete(said, it)
			}
			if e.Test != "" {
				continue
			}
			packages++
			order = slices.DeleteFunc(order, func(t test) bool {
				if t.pkg != e.Package {
					return false
				}
				if e.Action == "fail" {
					s.print(strings.Join(said[t], ""))
				}
				delete(said, t)
				return true
			})
		}
	}
}

// close prints the slowest tests and the sum. A test that is slow because of its subtests is not listed
// beside them.
func (s *summary) close() {
	slices.SortStableFunc(s.slow, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	var shown []timed
	for _, t := range s.slow {
		if len(shown) == slowest {
			break
		}
		test := strings.Contains(t.name, " ")
		inside := 0.0 // its subtests
		for _, u := range s.slow {
			if strings.HasPrefix(u.name, t.name+"/") {
				inside += u.seconds
			}
		}
		if test && inside <= t.seconds/2 {
			shown = append(shown, t)
		}
	}
	fmt.Fprintln(s.out, "The slowest tests:")
	for _, t := range shown {
		fmt.Fprintf(s.out, "%8.1f s  %s\n", t.seconds, t.name)
	}
	fmt.Fprintln(s.out, s.counts)
}
