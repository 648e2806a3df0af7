// Runtests runs commands of go test and says little while all is well: a line for each command, the ten
// slowest tests and a sum. Whatever did not pass is printed in full, as soon as its package has ended.
// It exits with 1 then.
//
//	go run ./internal/testkit/runtests [NAME=VALUE...] ARGUMENTS [-- [NAME=VALUE...] ARGUMENTS]...
//
// Each group of arguments is one run of go test, with these variables added to its environment.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
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

// summary is about all commands.
type summary struct {
	out                     io.Writer
	passed, failed, skipped int
	slow                    []timed
}

const slowest = 10

func main() {
	s := &summary{out: os.Stdout}
	var commands [][]string
	for rest := os.Args[1:]; len(rest) > 0; {
		end := slices.Index(rest, "--")
		if end < 0 {
			commands = append(commands, rest)
			break
		}
		commands, rest = append(commands, rest[:end]), rest[end+1:]
	}
	for _, words := range commands {
		if err := s.run(words); err != nil {
			fmt.Fprintln(os.Stderr, err)
			s.failed++
		}
	}
	s.close()
	if s.failed > 0 {
		os.Exit(1)
	}
}

// run runs go test once. The error is of running it; tests that fail are counted.
func (s *summary) run(words []string) error {
	var env []string
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") && strings.Contains(words[0], "=") {
		env, words = append(env, words[0]), words[1:]
	}
	before, began := *s, time.Now()
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
	packages, err := s.read(out)
	if err != nil {
		return err
	}
	err = cmd.Wait()
	fmt.Fprintf(s.out, "go test %s\n    %d packages in %.0f s: %d passed, %d failed, %d skipped\n",
		strings.Join(append(env, words...), " "), packages, time.Since(began).Seconds(),
		s.passed-before.passed, s.failed-before.failed, s.skipped-before.skipped)
	if err != nil && s.failed == before.failed { // it does not build, or there is no such package
		return fmt.Errorf("go test %s: %w", strings.Join(words, " "), err)
	}
	return nil
}

// read counts the tests in the output of go test -json, prints what did not pass, and returns how many
// packages there were.
func (s *summary) read(in io.Reader) (packages int, err error) {
	type test struct{ pkg, name string }
	said := map[test][]string{} // of tests that have not passed yet, and of packages
	var order []test
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF && line == "" {
			return packages, nil
		} else if err != nil && err != io.EOF {
			return packages, err
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Fprint(s.out, line)
			continue
		}
		it := test{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Fprint(s.out, e.Output)
		case "output":
			if said[it] == nil {
				order = append(order, it)
			}
			said[it] = append(said[it], e.Output)
		case "pass", "skip", "fail":
			s.slow = append(s.slow, timed{strings.TrimSuffix(e.Package+" "+e.Test, " "), e.Elapsed})
			if e.Test != "" {
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
					fmt.Fprint(s.out, strings.Join(said[t], ""))
				}
				delete(said, t)
				return true
			})
		}
	}
}

func (s *summary) count(action string) {
	switch action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
	case "skip":
		s.skipped++
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
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
}
