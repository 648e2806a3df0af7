package simulate

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/trace"
)

// Write is Run that writes the run as a trace to a folder that is not there yet. by says who makes it, and
// gets the rest of the trace's run.json; its Exit is the exit code of a program that gets stuck.
func (s *Simulator) Write(ctx context.Context, m Machine, dir string, by *trace.RunInfo) (*Result, error) {
	if _, err := os.Stat(dir); err == nil {
		return nil, os.ErrExist
	}
	m = s.Complete(m)
	cores := m.Cores
	if cores < 0 {
		cores = m.Nodes * m.Workers
	}
	info, was := *by, s.g.m.Info
	info.ID, info.Program, info.Args, info.Started = trace.NewRunID(), was.Program, was.Args, was.Started
	info.Hosts, info.Off = []string{"predicted"}, Off()
	info.Processes = []trace.ProcessInfo{{Host: "predicted", Cores: cores}}
	info.Settings = map[string]string{"predicted": "from run " + cmp.Or(was.ID, "?")}
	if m.Latency > 0 {
		info.Settings["link_latency"] = time.Duration(m.Latency).String()
	}
	if len(m.Priority) > 0 {
		info.Settings["priority"] = strings.Join(m.Priority, ",")
	}
	if m.Bandwidth > 0 {
		info.Settings["link_bandwidth"] = strconv.FormatFloat(m.Bandwidth, 'f', 0, 64)
	}
	for n := range m.Nodes {
		info.Nodes = append(info.Nodes, trace.NodeInfo{Node: n, Host: "predicted", Workers: m.Workers})
	}
	if err := trace.WriteRunInfo(dir, &info); err != nil {
		return nil, err
	}
	r, err := s.Record(ctx, m, dir, info.ID)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir)) // part of a prediction is of no use
	}
	info.Ended, info.Exit = trace.EndedDone, 0
	if r.Left > 0 {
		info.Ended, info.Exit = trace.EndedStuck, by.Exit
	}
	return r, trace.WriteRunInfo(dir, &info)
}
