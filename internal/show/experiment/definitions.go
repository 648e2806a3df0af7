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
	{"latency", crossedExperiment("nodes, links of 20 us and 1.25 GB/s", Point{Flags: network})},
	// The links are like those of a cluster here, too: nodes are thought of as different computers.
	{"pic", dustExperiment("nodes", Point{Flags: network})},
	{"overhead-mpi", overheadMPIExperiment},
	{"latency-shm", crossedExperiment("MPI ranks, over shared memory", Point{Ranks: true, MPI: sharedMemory})},
	{"latency-tcp", crossedExperiment("MPI ranks, over TCP on one computer", Point{Ranks: true, MPI: tcp})},
	{"pic-mpi", dustExperiment("ranks", Point{Ranks: true})},
}

// network are links like those of a cluster: 10 Gbit/s.
var network = []string{"--link-latency=20us", "--link-bandwidth=1250M"}

// Options of mpirun for the links between ranks: which of Open MPI's ways to transfer bytes are used.
var (
	sharedMemory = []string{"--mca", "pml", "ob1", "--mca", "btl", "self,vader"}
	tcp          = []string{"--mca", "pml", "ob1", "--mca", "btl", "self,tcp"}
)

// The same number of iterations of arithmetic is done in every run of an experiment: about 0.3 s for this
// one.
const iterations = 200_000_000

// chainLength is the number of CFs in a chain.
const chainLength = 100

// starvationExperiment: independent chains, from one to twice as many as the most workers there may be; all
// of the work in all of them is always the same.
func starvationExperiment(opt Options) *Experiment {
	workers := min(max(opt.Cores, 2), 8)
	e := &Experiment{
		Title: fmt.Sprintf("N independent chains of %d CFs on %d workers, the same work in all", chainLength,
			workers),
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
		e.add(n, strconv.Itoa(n), Point{Nodes: 1, Workers: workers, Program: "chains/chains.fa",
			Args: words(n, chainLength, work)})
	}
	return e
}

// overheadExperiment: one chain; from point to point half as many CFs, each twice as large.
func overheadExperiment(opt Options) *Experiment {
	e := &Experiment{
		Title:     "one chain on one worker, the same work in ever fewer and larger CFs",
		Parameter: "CFs", Repeats: 5, judge: judgeOverhead, perCF: true,
	}
	work, from, to, step := iterations, 1<<18, 1<<6, 2
	if opt.Quick {
		work, from, to, step = iterations/40, 1<<16, 1<<8, 16
	}
	for n := from; n >= to; n /= step {
		e.add(n, strconv.Itoa(n), Point{Nodes: 1, Workers: 1, Program: "granularity/granularity.fa",
			Args: words(n, work)})
	}
	return e
}

// overheadMPIExperiment: the same chain on one rank; on two, as many CFs in two chains that change ranks with
// every CF.
func overheadMPIExperiment(opt Options) *Experiment {
	e := &Experiment{
		Title: "the same work in ever fewer and larger CFs: one chain on one rank, two chains that cross " +
			"between two ranks",
		Parameter: "CFs", Repeats: 5, judge: judgeOverheadMPI, perCF: true, plain: true,
	}
	work, from, to, step := iterations, 1<<16, 1<<6, 4
	if opt.Quick {
		work, from, to, step = iterations/40, 1<<12, 1<<8, 16
	}
	for n := from; n >= to; n /= step {
		e.add(n, fmt.Sprintf("%d on 1 rank", n), Point{Nodes: 1, Workers: 1, Ranks: true,
			Program: "granularity/granularity.fa", Args: words(n, work)})
		e.add(n, fmt.Sprintf("%d on 2 ranks", n), Point{Nodes: 2, Workers: 1, Ranks: true,
			Program: "crossed/crossed.fa", Args: words(n/2, 8, work/n)})
	}
	return e
}

// crossedExperiment: two chains that change nodes with every CF, in opposite directions; DFs from 8 bytes to
// 16 MiB. like is how a point runs, where is said of its links.
func crossedExperiment(where string, like Point) func(Options) *Experiment {
	return func(opt Options) *Experiment {
		like := like
		length, work, step := 100, iterations, 8
		if opt.Quick {
			length, work, step = 20, iterations/100, 256
		}
		e := &Experiment{
			Title:     fmt.Sprintf("two chains of %d CFs that cross between two %s", length, where),
			Parameter: "DF size", Repeats: 5, judge: judgeLatency,
		}
		like.Nodes, like.Workers, like.Program = 2, 1, "crossed/crossed.fa"
		for size := 8; size <= 16<<20; size *= step {
			like.Args = words(length, size, work/2/length)
			e.add(size, sizeText(size), like)
		}
		return e
	}
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
