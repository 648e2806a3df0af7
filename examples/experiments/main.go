// Command experiments runs three series and prints how the factors follow the parameter: starvation against the number of
// chains, overhead against the number of CFs the same work is cut into, latency against the size of the DFs that travel.
//
//	go run ./examples/experiments -whyslow ./whyslow
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// A series varies one argument of a program.
type series struct {
	title, parameter, expect string
	flags                    []string
	program                  string
	args                     func(value int) []string
	values                   []int
}

func main() {
	whyslow := flag.String("whyslow", "whyslow", "the whyslow to use")
	examples := flag.String("examples", "examples", "folder of the example programs")
	work := flag.Int("work", 400_000_000, "iterations of each run; more gives steadier figures")
	flag.Parse()
	if err := run(*whyslow, *examples, *work); err != nil {
		fmt.Fprintln(os.Stderr, "experiments:", err)
		os.Exit(1)
	}
}

// crossings is the number of CFs of each of the two chains that cross.
const crossings = 200

// experiments are the three series; work is the number of iterations of each run.
func experiments(cores, work int) []series {
	var chains []int
	for n := 1; n <= 2*cores; n++ {
		chains = append(chains, n)
	}
	return []series{
		{
			title: "Starvation: N independent chains of 100 CFs", parameter: "N",
			expect:  fmt.Sprintf("S falls until N reaches the number of workers, %d, and rises where the workers do not divide N", cores),
			flags:   []string{"-n", "1", "-w", strconv.Itoa(cores)},
			program: "chains/chains.fa",
			args:    func(n int) []string { return words(n, 100, work) }, values: chains,
		},
		{
			title: "Overhead: one chain, the same work cut into COUNT CFs", parameter: "COUNT",
			expect:  "O grows with COUNT",
			flags:   []string{"-n", "1", "-w", "1"},
			program: "granularity/granularity.fa",
			args:    func(n int) []string { return words(n, work) }, values: []int{100, 1000, 10_000, 100_000, 300_000},
		},
		{
			title: "Latency: two chains that cross between two nodes, links of 1 GB/s", parameter: "BYTES",
			expect:  "L grows with BYTES",
			flags:   []string{"-n", "2", "-w", "1", "--link-bandwidth=1G"},
			program: "crossed/crossed.fa",
			args:    func(n int) []string { return words(crossings, n, work/2/crossings) },
			values:  []int{1000, 10_000, 100_000, 1_000_000, 4_000_000},
		},
	}
}

func run(whyslow, examples string, work int) error {
	scratch, err := os.MkdirTemp("", "experiments-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	for i, s := range experiments(runtime.NumCPU(), work) {
		if i > 0 {
			fmt.Println()
		}
		fmt.Printf("%s\n(%s)\n\n%10s %10s %8s %8s %8s %8s %14s\n",
			s.title, s.expect, s.parameter, "wall, ms", "U", "S", "L", "O", "of it preempt")
		for _, v := range s.values {
			r, err := s.measure(whyslow, examples, filepath.Join(scratch, fmt.Sprintf("%d-%d", i, v)), v)
			if err != nil {
				return err
			}
			fmt.Printf("%10d %10.1f", v, float64(r.Wall)/1e6)
			for _, f := range []string{"U", "S", "L", "O"} {
				fmt.Printf(" %7.2f%%", 100*r.share(f))
			}
			// Other programs on the machine show here, not in what the experiment is about.
			fmt.Printf(" %13.2f%%\n", 100*r.preempted())
		}
	}
	return nil
}

func words(values ...int) []string {
	var w []string
	for _, v := range values {
		w = append(w, strconv.Itoa(v))
	}
	return w
}

// result is the beginning of the JSON report.
type result struct {
	Wall    int64 `json:"wall_ns"`
	Total   int64 `json:"total_ns"`
	Factors map[string]struct {
		NS    int64            `json:"ns"`
		Parts map[string]int64 `json:"parts"`
	} `json:"factors"`
}

// share is a factor's part of all processor time, 0 to 1.
func (r *result) share(factor string) float64 {
	return float64(r.Factors[factor].NS) / float64(r.Total)
}

// preempted is the part of all processor time that running CFs lost to other programs, 0 to 1.
func (r *result) preempted() float64 {
	return float64(r.Factors["O"].Parts["preempt"]) / float64(r.Total)
}

func (s *series) measure(whyslow, examples, scratch string, value int) (*result, error) {
	args := append([]string{"run", "-q", "-o", scratch + ".trace", "--json=" + scratch + ".json"}, s.flags...)
	args = append(args, filepath.Join(examples, s.program))
	args = append(args, s.args(value)...)
	if out, err := exec.Command(whyslow, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s %v: %w\n%s", whyslow, args, err, out)
	}
	text, err := os.ReadFile(scratch + ".json")
	if err != nil {
		return nil, err
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", scratch+".json", err)
	}
	return &r, nil
}
