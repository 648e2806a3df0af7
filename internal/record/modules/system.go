//go:build !no_system_module

package modules

import (
	"bytes"
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/prof"
)

// SystemName is the name of the module that watches the run-time system itself.
const SystemName = "system_module"

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:   SystemName,
		Doc:    "CPU time, memory and threads of the run-time system itself over time, for the trace and the page",
		Output: "GlobalEvents.onUsage at that interval, and a line at the end",
		Cost:   "2 ns per event, and 30 us per sample",
		Events: []string{"CFEvents.onStarted", "CFEvents.onFinished", "GlobalEvents.onReadyQueue",
			"GlobalEvents.onIdle", "GlobalEvents.onBusy", "GlobalEvents.onProgramStarted",
			"GlobalEvents.onProgramFinished"},
		Emits: []string{"GlobalEvents.onUsage"},
		Params: []prof.Param{
			{Name: "interval", Default: 100, Doc: "milliseconds between two samples, at least"},
			{Name: "file", Default: "", Doc: outputDoc},
		},
		New: func() prof.Module { return &System{} },
	})
}

// System is the module system_module. It samples in passing, when an event comes and a sample is due: a
// goroutine of its own would take a core from the workers. A process with several nodes counts at its first.
type System struct {
	ses   *prof.Session
	out   *prof.Output
	every int64 // ns
	first int   // node of this process
	due   atomic.Int64

	mu   sync.Mutex
	last Usage // the sample before
	cpu  int64 // at the start, ns
	peak Usage // largest of each
}

// Usage is what this process uses at a moment.
type Usage struct {
	Time     int64  // on the clock of prof.Now
	CPU      int64  // CPU time since the process started, ns
	Resident int64  // bytes in memory
	Arenas   int64  // bytes that the run-time system has from the operating system: CFs, queues, DFs, events
	Threads  uint64 // of C code, too
}

// Start connects the module.
func (m *System) Start(h *prof.Host) error {
	ms := h.Int("interval")
	if ms < 1 {
		return fmt.Errorf("interval=%d: give a number of milliseconds, 1 or more", ms)
	}
	m.ses, m.every, m.first = h.Session(), int64(ms)*1e6, h.Run().Node
	var err error
	if m.out, err = h.Open(h.String("file")); err != nil {
		return err
	}
	m.last = UsageNow()
	m.cpu = m.last.CPU
	tick := func(s *prof.Stream, a *prof.Any) {
		if due := m.due.Load(); a.Time >= due && s.Node() == m.first && m.due.CompareAndSwap(due, a.Time+m.every) {
			m.sample(s)
		}
	}
	for _, e := range []string{"onReadyQueue", "onIdle", "onBusy", "onProgramStarted"} {
		if err := h.Connect("GlobalEvents", e, tick); err != nil {
			return err
		}
	}
	for _, e := range []string{"onStarted", "onFinished"} {
		if err := h.Connect("CFEvents", e, tick); err != nil {
			return err
		}
	}
	return h.Connect("GlobalEvents", "onProgramFinished", func(s *prof.Stream, _ *prof.Any) {
		if s.Node() == m.first {
			m.sample(s)
		}
	})
}

// sample emits what the process uses now.
func (m *System) sample(s *prof.Stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := UsageNow()
	load := (u.CPU - m.last.CPU) * 100 / max(u.Time-m.last.Time, 1)
	m.last = u
	m.note(u)
	m.ses.Usage.Emit(s, uint64(max(load, 0)), u.Resident, u.Arenas, u.Threads)
}

func (m *System) note(u Usage) {
	m.peak.Resident = max(m.peak.Resident, u.Resident)
	m.peak.Arenas = max(m.peak.Arenas, u.Arenas)
	m.peak.Threads = max(m.peak.Threads, u.Threads)
}

// Finish writes the sums.
func (m *System) Finish() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := UsageNow()
	m.note(u)
	_, err := fmt.Fprintf(m.out, "Process: %.3f s CPU, peak %d bytes resident, %d bytes of the run-time system,"+
		" %d threads\n", float64(u.CPU-m.cpu)/1e9, m.peak.Resident, m.peak.Arenas, m.peak.Threads)
	return err
}

// UsageNow is what this process uses. What the operating system does not tell is 0.
func UsageNow() Usage {
	u := Usage{Time: prof.Now(), CPU: clock.ProcessCPU()}
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(memory)
	u.Arenas = int64(memory[0].Value.Uint64() - memory[1].Value.Uint64())
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := bytes.Fields(text); len(f) > 1 {
			pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
			u.Resident = pages * int64(os.Getpagesize())
		}
	}
	if text, err := os.ReadFile("/proc/self/stat"); err == nil {
		// The name, in brackets, may have blanks; the number of threads is the 18th field after it.
		if f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]); len(f) > 17 {
			u.Threads, _ = strconv.ParseUint(string(f[17]), 10, 64)
		}
	}
	return u
}
