package crew

import (
	"cmp"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/compile"
	"github.com/whyslow/whyslow/internal/run/luna"
)

// # Hosts that are not alike
//
// Ranks on several computers read files of their own: whyslow itself, the program, its C++ code. They number
// CFs, DFs and code fragments without asking each other, and send values as they lie in memory. So all of
// that must be the same everywhere; a file that was copied to one host only is reported before anything runs.

// joinPatience is how long a rank that cannot join the others lets rank 0 fail, too, and mpirun end all:
// whatever all ranks lack rank 0 says.
const joinPatience = 5 * time.Second

// CannotJoin says why this rank, not rank 0, will not come, unless it is asked to end before. Otherwise the
// others would wait for it for ever. One rank of a host speaks.
func CannotJoin(ctx context.Context, err error) {
	rank, _ := Place()
	if rank == 0 {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(joinPatience):
	}
	for _, local := range []string{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"} {
		if n := os.Getenv(local); n != "" && n != "0" {
			return
		}
	}
	fmt.Fprintf(os.Stderr, "whyslow: rank %d (%s): %v\n", rank, HostName(), err)
}

// slowJoin is when rank 0 says that it is still waiting for the others.
const slowJoin = 20 * time.Second

// sayIfSlow has rank 0 say what may be wrong if the ranks of several hosts do not find each other for long,
// until stop is called. Usually it is an interface that every host has with the same address, as the bridge
// of containers: MPI takes it for a network of them all.
func sayIfSlow() (stop func()) {
	if rank, ranks := Place(); rank > 0 || os.Getenv("OMPI_COMM_WORLD_LOCAL_SIZE") == strconv.Itoa(ranks) {
		return func() {}
	}
	timer := time.AfterFunc(slowJoin, func() {
		fmt.Fprintf(os.Stderr, "whyslow: warning: %v, and the ranks of other hosts have not connected: name the"+
			" network that connects the hosts, mpirun --mca btl_tcp_if_include NAME --mca"+
			" oob_tcp_if_include NAME; %s has %s\n",
			slowJoin, HostName(), cmp.Or(strings.Join(networks(), ", "), "none"))
	})
	return func() { timer.Stop() }
}

// SayIfAlone warns where srun has started several processes that do not know of each other.
func SayIfAlone() {
	tasks, _ := strconv.Atoi(os.Getenv("SLURM_STEP_NUM_TASKS")) // 0 outside of Slurm
	for _, e := range rankVariables {
		if os.Getenv(e.rank) != "" {
			return
		}
	}
	if tasks > 1 && os.Getenv("SLURM_PROCID") == "0" {
		fmt.Fprintf(os.Stderr, "whyslow: warning: srun started %d processes, each on its own:"+
			" use srun --mpi=pmix, or mpirun\n", tasks)
	}
}

// networks are the interfaces that are up, with their addresses: "eth0 10.0.0.1/24".
func networks() (list []string) {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		for _, a := range addrs {
			if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
				list = append(list, i.Name+" "+a.String())
			}
		}
	}
	return list
}

// madeAs says which build of whyslow this is: its version, and what identifies the executable.
type madeAs struct{ Host, Version, Build string }

// sameBuild fails at all ranks if they do not run the same build.
func sameBuild(w World, version string) error {
	all, err := procs.AllGather(w.Group(), mustJSON(madeAs{HostName(), version, buildID()}))
	if err != nil {
		return console.BadInput(err)
	}
	var first madeAs
	for rank, text := range all {
		var m madeAs
		err := json.Unmarshal(text, &m)
		if rank == 0 {
			first = m
		}
		if err == nil && m.Version == first.Version && m.Build == first.Build {
			continue
		}
		if w.Rank() > 0 {
			return ErrElsewhere
		}
		what := "another build of " + m.Version
		if m.Version != first.Version {
			what = fmt.Sprintf("%s, rank 0 (%s) is %s", cmp.Or(m.Version, "another program"), first.Host,
				first.Version)
		}
		return console.Exit(console.BadUsage, fmt.Errorf("rank %d (%s) is %s: all hosts need the same file %s",
			rank, m.Host, what, filepath.Base(os.Args[0])))
	}
	return nil
}

// buildID is what the linker has written into this executable, and differs if anything in it does; "" where
// there is none.
func buildID() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	if note := f.Section(".note.go.buildid"); note != nil {
		if b, err := note.Data(); err == nil {
			return compile.Hash(string(b))
		}
	}
	return ""
}

// mustJSON is for what ranks tell here: another build can read it, too, and no list is another thing than an
// empty one.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // never: strings only
	}
	return b
}

// runCode is what a rank is about to run.
type runCode struct {
	Host    string
	Program string   // hash of the LuNA program, preprocessed
	Library string   // hash of the compiled C++ code
	Read    []Source // what that was compiled from; nil: nobody knows
}

// Source is a file of the user's C++ code.
type Source struct {
	Name string `json:"name"` // without folders, which may be others elsewhere
	Hash string `json:"hash"`
}

// Sources are the user's of the files that C++ code was compiled from, of which the hashes are given by path.
func Sources(read map[string]string) []Source {
	list := []Source{}
	for path, hash := range read {
		// not of the operating system
		if !strings.HasPrefix(path, "/usr/") && !strings.HasPrefix(path, "/lib") {
			list = append(list, Source{filepath.Base(path), hash})
		}
	}
	slices.SortFunc(list, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Hash, b.Hash))
	})
	return list
}

// ProgramText is all that makes a program, preprocessed: LuNA, and the C++ in it.
func ProgramText(p *luna.Program) string {
	b := []byte(p.Text)
	add := func(f *luna.Foreign) { b = append(append(b, 0), f.Text...) }
	for i := range p.Heads {
		add(&p.Heads[i])
	}
	for _, r := range p.Routines {
		if r.Body != nil {
			add(r.Body)
		}
	}
	return string(b)
}

// SameCode finds out whether all ranks are about to run the same: the program, and the library, compiled from
// read. Where only the result of compiling differs, rank 0 gets a warning.
func (c *Crew) SameCode(program, library string, read []Source) (warning string, err error) {
	if !c.Many() {
		return "", nil
	}
	own := runCode{Host: HostName(), Program: compile.Hash(program), Read: read}
	own.Library, err = compile.HashFile(library)
	// All take part, also who could not read its library.
	all, failed := procs.Gather(c.Group(), 0, mustJSON(own))
	if err = errors.Join(console.FileError(err), failed); err != nil || !c.Speaks() {
		return "", err
	}
	for rank, text := range all {
		var there runCode
		if err := json.Unmarshal(text, &there); err != nil {
			return "", err
		}
		if there.Library == "" {
			continue // it says so itself
		}
		what := own.differs(there)
		if what == "" {
			if there.Library != own.Library && warning == "" {
				warning = fmt.Sprintf("rank %d (%s) has compiled the C++ code with another compiler,"+
					" options or libraries than rank 0 (%s)", rank, there.Host, own.Host)
			}
			continue
		}
		return "", console.Exit(console.BadUsage, fmt.Errorf("%s of rank %d (%s) is not that of rank 0"+
			" (%s): all hosts need the same files", what, rank, there.Host, own.Host))
	}
	return warning, nil
}

// differs names what of the user's is not the same there; "" if all is.
func (c *runCode) differs(there runCode) string {
	if c.Program != there.Program {
		return "the program"
	}
	if c.Library == there.Library {
		return ""
	}
	if c.Read == nil || there.Read == nil {
		return "the library"
	}
	for _, s := range slices.Concat(c.Read, there.Read) {
		if !slices.Contains(c.Read, s) || !slices.Contains(there.Read, s) {
			return "the C++ code (" + s.Name + ")"
		}
	}
	return ""
}
