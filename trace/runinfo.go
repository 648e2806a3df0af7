package trace

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/tracefile"
)

// Values of RunInfo.Ended. A run that is still going on, or was killed, has "".
const (
	EndedDone        = "done"
	EndedFailed      = "failed"
	EndedStuck       = "stuck"
	EndedInterrupted = "interrupted"
)

// RunInfo is what run.json says about a run. Every fact may be missing: a trace opens without run.json.
type RunInfo struct {
	// of the run, wherever its trace is: NewRunID; "": unknown
	ID      string `json:"id,omitempty"`
	Program string `json:"program,omitempty"` // file name of the program
	// The program's own arguments, and the command that started it. The JSON of both, written or read, has ***
	// for the value of a token, password or other secret.
	Args        []string      `json:"args,omitempty"`
	CommandLine []string      `json:"command_line,omitempty"`
	Started     time.Time     `json:"started,omitzero"` // wall clock at the start of the run
	Ended       string        `json:"ended"`            // "", or one of the Ended constants
	NoEnd       bool          `json:"-"`                // Ended is "" because "ended" is missing: unknown
	Exit        int           `json:"exit,omitempty"`   // exit code, once ended
	Message     string        `json:"message,omitempty"`
	Inside      []InsideInfo  `json:"inside,omitempty"` // CFs that did not come back, so far or by the end
	Hosts       []string      `json:"hosts,omitempty"`
	Processes   []ProcessInfo `json:"processes,omitempty"`
	Nodes       []NodeInfo    `json:"nodes,omitempty"`
	Clock       string        `json:"clock,omitempty"`        // "tsc", "monotonic"
	ThreadClock string        `json:"thread_clock,omitempty"` // "auto", "always", "never"
	Off         []string      `json:"off,omitempty"`          // switched-off events, "Namespace.onName"
	// Interval says that the trace was exported: it has that part of the run, and of the rest what the division
	// of its time needs. nil: all of it.
	Interval *IntervalInfo     `json:"interval,omitempty"`
	Versions map[string]string `json:"versions,omitempty"` // whyslow, go, compiler, os, mpi
	Settings map[string]string `json:"settings,omitempty"` // anything else that shaped the run
	// Symbols are what recorded addresses of the program are, "PATH+0xOFFSET". A trace that was sent has
	// them here; beside the program they are in a file of their own, symbols.json.
	Symbols map[string]SymbolInfo `json:"symbols,omitempty"`
}

// SymbolInfo is where an address is in the source: the innermost function outside system headers, inlined or
// not.
type SymbolInfo struct {
	Function string `json:"function,omitempty"` // without its arguments; "" if unknown
	// as the compiler was told, made absolute by the folder it ran in; "" without debug information
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // from 1; 0 without debug information
	// Variable is what is at an address of data: "locks[3]", "state.lock"; without debug information
	// "state+0x40". File and Line declare it.
	Variable string `json:"variable,omitempty"`
}

// UnmarshalJSON drops secrets and tells a run.json without "ended" from one where it is "".
func (info *RunInfo) UnmarshalJSON(text []byte) error {
	type plain RunInfo
	var end struct{ Ended *string }
	if err := json.Unmarshal(text, (*plain)(info)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &end); err != nil {
		return err
	}
	info.NoEnd = end.Ended == nil
	info.Args, info.CommandLine = tracefile.Redact(info.Args), tracefile.Redact(info.CommandLine)
	return nil
}

// MarshalJSON drops secrets and leaves "ended" out if NoEnd says so.
func (info RunInfo) MarshalJSON() ([]byte, error) {
	type plain RunInfo
	info.Args, info.CommandLine = tracefile.Redact(info.Args), tracefile.Redact(info.CommandLine)
	if !info.NoEnd || info.Ended != "" {
		return json.Marshal(plain(info))
	}
	return json.Marshal(struct {
		plain
		Ended any `json:"ended,omitempty"`
	}{plain: plain(info)})
}

// IntervalInfo is a part of a run, in nanoseconds since its start, FromNS <= ToNS.
type IntervalInfo struct {
	FromNS int64 `json:"from_ns"`
	ToNS   int64 `json:"to_ns"`
}

// InsideInfo describes a CF that was inside user code and did not come back when its run was ended, or so
// far.
type InsideInfo struct {
	CF     string `json:"cf"`   // CF.String
	Name   string `json:"name"` // its label or code fragment with indices: "step[3][2]"
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"` // of its statement
	Node   int    `json:"node"`
	Worker int    `json:"worker"`
	NS     int64  `json:"ns"`     // how long it had been running
	CPUNS  int64  `json:"cpu_ns"` // how long of that it was seen to use a processor; -1: not known
	// What it did: "computes", "sleep", "lock", "io", "waits" (for something else) or "" (not known).
	Doing string `json:"doing,omitempty"`
	// Of "io" the file as /proc names it, of "lock" the CF that held it, like CF; "" where not known.
	What string `json:"what,omitempty"`
	// Call is the library function that the program's code was in, "" for none or where not known.
	Call string `json:"call,omitempty"`
	// Stack has the calls within the program's code, the innermost first.
	Stack []InsideCall `json:"stack,omitempty"`
}

// InsideCall is a function of the program's code, and where in it the next call is under way.
type InsideCall struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"` // without its folder; "" without debug information
	Line     int    `json:"line,omitempty"`
}

// ProcessInfo describes an OS process of the run.
type ProcessInfo struct {
	PID        int    `json:"pid"`
	Host       string `json:"host,omitempty"`
	Cores      int    `json:"cores,omitempty"`      // cores available to the process
	Affinity   string `json:"affinity,omitempty"`   // list of cores as in /proc: "0-3,8"
	GOMAXPROCS int    `json:"gomaxprocs,omitempty"` // 0: not a Go program
	// CPU is the processor time that the process took during the run, Busy what all programs took on its
	// cores meanwhile, to 10 ms a core; 0: not known.
	CPU  int64 `json:"cpu_ns,omitempty"`
	Busy int64 `json:"busy_ns,omitempty"`
	// Monotonic pairs the clock of the process with CLOCK_MONOTONIC of its host, at the start and at the end
	// of a run of several processes: those of one host share that clock.
	Monotonic []ClockPair `json:"monotonic,omitempty"`
}

// ClockPair is one moment on two clocks.
type ClockPair struct {
	Own         int64 `json:"own_ns"`       // time of events
	Monotonic   int64 `json:"monotonic_ns"` // CLOCK_MONOTONIC
	Uncertainty int64 `json:"uncertain_ns"` // how far the one may be from the other, at most
}

// NodeInfo describes a node.
type NodeInfo struct {
	Node    int    `json:"node"`
	Host    string `json:"host,omitempty"`
	Process int    `json:"process"`         // index into RunInfo.Processes
	Workers int    `json:"workers"`         // streams 0 to Workers-1 are workers
	Bound   []int  `json:"bound,omitempty"` // the core that each worker is bound to; none: they are not
	// where its file is, as HOST:FOLDER, as long as it is not with this run.json
	Part string `json:"part,omitempty"`
	// Unwritten is how many events could not be written, beside those that the file
	// itself tells of, and Error why.
	Unwritten uint64 `json:"unwritten,omitempty"`
	Error     string `json:"error,omitempty"`
}

// WriteRunInfo writes dir/run.json, replacing it at once: a reader sees the old one or the new
// one. dir is created if need be. Where the disk is too full for a second file, the first is written over:
// the file must say what went wrong.
func WriteRunInfo(dir string, info *RunInfo) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return RewriteRunInfo(dir, info)
}

// RewriteRunInfo is WriteRunInfo for a run under way: where its folder is gone, it makes no other one.
func RewriteRunInfo(dir string, info *RunInfo) error {
	path := filepath.Join(dir, tracefile.RunFile)
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	text = append(text, '\n')
	err = files.ReplaceText(path, text)
	if err == nil || errors.Is(err, syscall.ENOSPC) && overwriteFile(path, text) == nil {
		return nil
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

// overwriteFile writes over a file where it is, which takes no more room as long as the
// text fits the blocks that the file has. If it does not, the file stays as it was.
func overwriteFile(path string, text []byte) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(text, 0); err != nil {
		text = old
		_, rerr := f.WriteAt(text, 0)
		err = errors.Join(err, rerr)
	}
	return errors.Join(err, f.Truncate(int64(len(text))), f.Close())
}

// maxRunInfo is how long a run.json may be: 65,536 nodes take 10 MB.
const maxRunInfo = 64 << 20

// ReadRunInfo reads dir/run.json. Where there is none the error is fs.ErrNotExist.
func ReadRunInfo(dir string) (*RunInfo, error) {
	path := filepath.Join(dir, tracefile.RunFile)
	text, err := files.Read(path, maxRunInfo)
	if err != nil {
		return nil, err
	}
	info := new(RunInfo)
	if err := json.Unmarshal(text, info); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return info, nil
}

// Node returns what is known of a node, nil if nothing.
func (info *RunInfo) Node(node int) *NodeInfo {
	if info == nil {
		return nil
	}
	if node >= 0 && node < len(info.Nodes) && info.Nodes[node].Node == node { // where they nearly always are
		return &info.Nodes[node]
	}
	for i := range info.Nodes {
		if info.Nodes[i].Node == node {
			return &info.Nodes[i]
		}
	}
	return nil
}

// id is the run's id, "" where it is not known.
func (info *RunInfo) id() string {
	if info == nil {
		return ""
	}
	return info.ID
}

// NewRunID returns a random id for a run: 32 hex digits.
func NewRunID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
