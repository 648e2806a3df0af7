package experiment

import (
	"fmt"
	"strconv"
)

var definitions = []struct {
	name string
	make func(Options) *Experiment
}{
	{"starvation", starvationExperiment},
	{"overhead", overheadExperiment},
	{"latency", latencyExperiment},
	{"pic", picExperiment},
}

// network are links like those of a cluster: 10 Gbit/s.
var network = []string{"--link-latency=20us", "--link-bandwidth=1250M"}

// The same number of iterations of arithmetic is done in every run of an experiment: about 0.3 s for this one.
const iterations = 200_000_000

// chainLength is the number of CFs in a chain.
const chainLength = 100

// starvationExperiment: independent chains, from one to twice as many as the most workers there may be; all of the work
// in all of them is always the same.
func starvationExperiment(opt Options) *Experiment {
	workers := min(max(opt.Cores, 2), 8)
	e := &Experiment{
		Title:     fmt.Sprintf("N independent chains of %d CFs on %d workers, the same work in all", chainLength, workers),
		Parameter: "chains", Repeats: 5, judge: judgeStarvation,
	}
	work, chains := 2*iterations, []int{}
	for n := 1; n <= 16; n++ {
		chains = append(chains, n)
	}
	if opt.Quick {
		work, chains = iterations/8, []int{1, workers, 2 * workers}
	}
	for _, n := range chains {
		e.add(n, strconv.Itoa(n), Point{Nodes: 1, Workers: workers, Program: "chains/chains.fa", Args: words(n, chainLength, work)})
	}
	return e
}

// overheadExperiment: one chain; from point to point half as many CFs, each twice as large.
func overheadExperiment(opt Options) *Experiment {
	e := &Experiment{
		Title:     "one chain on one worker, the same work in ever fewer and larger CFs",
		Parameter: "CFs", Repeats: 5, judge: judgeOverhead,
	}
	work, from, to, step := iterations, 1<<18, 1<<6, 2
	if opt.Quick {
		work, from, to, step = iterations/40, 1<<16, 1<<8, 16
	}
	for n := from; n >= to; n /= step {
		e.add(n, strconv.Itoa(n), Point{Nodes: 1, Workers: 1, Program: "granularity/granularity.fa", Args: words(n, work)})
	}
	return e
}

// latencyExperiment: two chains that change nodes with every CF, in opposite directions; DFs from 8 bytes to 16 MiB.
func latencyExperiment(opt Options) *Experiment {
	length, work, step := 100, iterations, 8
	if opt.Quick {
		length, work, step = 20, iterations/100, 256
	}
	e := &Experiment{
		Title:     fmt.Sprintf("two chains of %d CFs that cross between two nodes, links of 20 us and 1.25 GB/s", length),
		Parameter: "DF size", Repeats: 5, judge: judgeLatency,
	}
	for size := 8; size <= 16<<20; size *= step {
		e.add(size, sizeText(size), Point{Nodes: 2, Workers: 1, Flags: network, Program: "crossed/crossed.fa", Args: words(length, size, work/2/length)})
	}
	return e
}

// picExperiment: particle in cell, all on one node and on four.
func picExperiment(opt Options) *Experiment {
	mesh, particles, slabs, steps, eps := 100, 1_000_000, 25, 10, "0.0001"
	if opt.Quick {
		mesh, particles, slabs, steps = 16, 2000, 8, 3
	}
	e := &Experiment{
		Title: fmt.Sprintf("particle in cell: %d particles, a mesh of %d x %d x %d in %d slabs, %d steps", particles, mesh, mesh, mesh, slabs, steps),
		// The links are like those of a cluster here, too: nodes are thought of as different computers.
		Parameter: "nodes", Repeats: 5, judge: judgePIC,
	}
	for _, nodes := range []int{1, 4} {
		e.add(nodes, strconv.Itoa(nodes), Point{Nodes: nodes, Workers: 1, Flags: network, Program: "pic/pic.fa",
			Args: append(append(words(mesh, particles, slabs, steps), eps), words(nodes)...)})
	}
	return e
}

func (e *Experiment) add(value int, label string, p Point) {
	p.Value, p.Label = int64(value), label
	e.Points = append(e.Points, &p)
}

func words(values ...int) []string {
	var w []string
	for _, v := range values {
		w = append(w, strconv.Itoa(v))
	}
	return w
}

// sizeText writes a power of two as a size.
func sizeText(n int) string {
	for _, u := range []string{"B", "KiB", "MiB"} {
		if n < 1024 {
			return fmt.Sprintf("%d %s", n, u)
		}
		n /= 1024
	}
	return fmt.Sprintf("%d GiB", n)
}
