package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// The shape of particle in cell, by the names that the command line gives. By default it is that of the
// source, but that the mesh is cut into slabs: boxes, if it is not 0, cuts it along all three axes, as in the
// source.
var dustShape = map[string]int{"mesh": 100, "particles": 1_000_000, "slabs": 25, "boxes": 0, "steps": 10,
	"workers": 1}

// DustNames are the names of what can be said about the shape of particle in cell.
func DustNames() []string { return slices.Sorted(maps.Keys(dustShape)) }

// CheckDust tells what is wrong with a shape.
func CheckDust(given map[string]int) error {
	for _, name := range DustNames() {
		n, said := given[name]
		most := 1 << 30
		switch {
		case !said:
			continue
		case name == "workers":
			most = 1024
		case name == "slabs" || name == "boxes":
			most = cmp.Or(given["mesh"], dustShape["mesh"]) / 2
		}
		if n < 1 || n > most {
			return fmt.Errorf("particle in cell: %s=%d: use 1 to %d", name, n, most)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := dustShape[name]; !known {
			return fmt.Errorf("particle in cell has no %q: use %v", name, DustNames())
		}
	}
	switch mesh := given["mesh"]; {
	case given["slabs"] > 0 && given["boxes"] > 0:
		return errors.New("particle in cell: give either slabs or boxes (of each axis)")
	case mesh > 0 && given["slabs"] == 0 && given["boxes"] == 0 && mesh < 2*dustShape["slabs"]:
		return fmt.Errorf("particle in cell: mesh=%d has room for %d slabs: say so as well (slabs=N)", mesh, mesh/2)
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
		mesh, workers, boxes := shape["mesh"], shape["workers"], shape["boxes"]
		like.Workers, like.Program = workers, "pic/pic.fa"
		cut, parts := fmt.Sprintf("%d slabs", shape["slabs"]), shape["slabs"]
		if boxes > 0 {
			like.Program = "pic/boxes.fa"
			cut, parts = fmt.Sprintf("%d x %d x %d boxes", boxes, boxes, boxes), boxes
		}
		e := &Experiment{
			Title: fmt.Sprintf("particle in cell: %d particles, a mesh of %d x %d x %d in %s, %d steps",
				shape["particles"], mesh, mesh, mesh, cut, shape["steps"]),
			Parameter: parameter, Repeats: 5, judge: judgePIC,
		}
		for _, nodes := range []int{1, 4} {
			like.Nodes = nodes
			like.Args = append(append(words(mesh, shape["particles"], parts, shape["steps"]), "0.0001"),
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
