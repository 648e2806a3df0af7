package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// The shape of particle in cell, by the names that the command line gives: that of the source by default.
var dustShape = map[string]int{"mesh": 100, "particles": 1_000_000, "slabs": 25, "steps": 10, "workers": 1}

// DustNames are the names of what can be said about the shape of particle in cell.
func DustNames() []string { return slices.Sorted(maps.Keys(dustShape)) }

// CheckDust tells what is wrong with a shape.
func CheckDust(given map[string]int) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		most := 1 << 30
		switch {
		case dustShape[name] == 0:
			return fmt.Errorf("particle in cell has no %q: use %v", name, DustNames())
		case name == "workers":
			most = 1024
		case name == "slabs":
			most = cmp.Or(given["mesh"], dustShape["mesh"]) / 2
		}
		if n := given[name]; n < 1 || n > most {
			return fmt.Errorf("particle in cell: %s=%d: use 1 to %d", name, n, most)
		}
	}
	if given["mesh"] > 0 && given["slabs"] == 0 && given["mesh"] < 2*dustShape["slabs"] {
		return fmt.Errorf("particle in cell: mesh=%d has room for %d slabs: say so as well (slabs=N)",
			given["mesh"], given["mesh"]/2)
	}
	return nil
}

// dustExperiment: particle in cell, all on one node and on four. like is how a point runs.
func dustExperiment(parameter string, like Point) func(Options) *Experiment {
	return func(opt Options) *Experiment {
		like := like
		shape := maps.Clone(dustShape)
		if opt.Quick {
			maps.Copy(shape, map[string]int{"mesh": 16, "particles": 2000, "slabs": 8, "steps": 3})
		}
		maps.Copy(shape, opt.Dust)
		mesh, workers := shape["mesh"], shape["workers"]
		e := &Experiment{
			Title: fmt.Sprintf("particle in cell: %d particles, a mesh of %d x %d x %d in %d slabs, %d steps",
				shape["particles"], mesh, mesh, mesh, shape["slabs"], shape["steps"]),
			Parameter: parameter, Repeats: 5, judge: judgePIC,
		}
		like.Workers, like.Program = workers, "pic/pic.fa"
		for _, nodes := range []int{1, 4} {
			like.Nodes = nodes
			like.Args = append(append(words(mesh, shape["particles"], shape["slabs"], shape["steps"]), "0.0001"),
				words(nodes)...)
			label := strconv.Itoa(nodes)
			if workers > 1 {
				label = fmt.Sprintf("%d x %d workers", nodes, workers)
			}
			e.add(nodes, label, like)
		}
		if all := 4 * workers; all > opt.Cores {
			e.Note = fmt.Sprintf("%d workers share %d cores here: part of S and L is waiting for workers that wait"+
				" for a core, and pre-emption shows the rest", all, opt.Cores)
		}
		return e
	}
}
