package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// benchImports measures how fast traces of other programs are read, and how much memory the model of each
// takes.
func benchImports(ctx context.Context, b *bench) error {
	dir, err := b.temp()
	if err != nil {
		return err
	}
	binary, err := b.whyslow(ctx)
	if err != nil {
		return err
	}
	_, err = exec.LookPath("otf2-config")
	archives := err == nil && !b.quick // it takes another whyslow
	if archives {
		binary = filepath.Join(dir, "whyslow")
		if out, err := exec.CommandContext(ctx, "go", "build", "-C", "..", "-tags", "otf2", "-o", binary,
			"./cmd/whyslow").CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build whyslow: %w\n%s", err, bytes.TrimSpace(out))
		}
	}
	whyslow := func(args ...string) (cpu float64, err error) {
		cmd := exec.CommandContext(ctx, binary, args...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("whyslow %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
		}
		return float64(peakOfProcess(cmd.ProcessState).CPUNS) / 1e9, nil
	}
	n := b.pick(1_000_000, 10_000)
	if b.full {
		n = 10_000_000
	}
	t := b.table("Traces of other programs", fmt.Sprintf("`whyslow import` of files with about %.2g million "+
		"events. StarPU: a recorded Cholesky factorization over and over, an event is a line of paje.trace or a "+
		"task's submission, start or end. Trace Event Format: slices, of which a quarter has an arrow, and "+
		"counters. Perfetto: what whyslow writes of that, an event is a packet. OTF2: eight ranks that compute, "+
		"send and reduce. Go: goroutines that pass values, as runtime/trace records them. CPU seconds are those "+
		"of all processes. The model is that of the trace which import has made. It has events of its own: what "+
		"a Go event says takes several.", float64(n)/1e6), "", "M events", "MB", "CPU seconds", "goal",
		"CPU seconds of 10 M events", "M events of the trace", "bytes of the model per event of the trace", "goal",
		"per event of the file")
	for _, f := range []struct {
		name string
		make func(to string) (events int, err error)
	}{
		{"StarPU", func(to string) (int, error) { return starpuAgain(to, n) }},
		{"OTF2", func(to string) (int, error) {
			if !archives {
				return 0, nil
			}
			events, err := ranks(to+".trace", n)
			if err == nil {
				_, err = whyslow("convert", "--format", "otf2", "-o", to, to+".trace")
			}
			return events, err
		}},
		{"Trace Event Format", func(to string) (int, error) { return n, taskFile(to, n) }},
		{"Perfetto", func(to string) (int, error) {
			// A slice is two packets.
			if err := taskFile(to+".json", n*2/3); err != nil {
				return 0, err
			}
			if _, err := whyslow("convert", "--format", "perfetto", "-o", to, to+".json"); err != nil {
				return 0, err
			}
			return packets(to)
		}},
		{"Go execution trace", func(to string) (int, error) {
			text, err := goSchedulerTrace(n / 8)
			if err != nil {
				return 0, err
			}
			events, err := readGoTrace(bytes.NewReader(text))
			if err != nil {
				return 0, err
			}
			return events, os.WriteFile(to, text, 0o644)
		}},
	} {
		file, made := filepath.Join(dir, "in"), filepath.Join(dir, "out.trace")
		events, err := f.make(file)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if events == 0 {
			continue
		}
		size, err := diskBytes(file)
		if err != nil {
			return err
		}
		cpu, err := whyslow("import", "-o", made, file)
		if err != nil {
			return err
		}
		r, err := trace.Open(made)
		if err != nil {
			return err
		}
		ours := float64(r.Events())
		r.Close()
		per, err := modelMemory(ctx, made, ours)
		if err != nil {
			return err
		}
		t.row(f.name, float64(events)/1e6, float64(size)/1e6, cpu, "60", cpu*1e7/float64(events), ours/1e6, per,
			"24",
			per*ours/float64(events))
		for _, old := range []string{file, file + ".json", file + ".trace", made} {
			if err := os.RemoveAll(old); err != nil {
				return err
			}
		}
	}
	return nil
}

// benchTables measures what all tables of a run cost as Parquet.
func benchTables(ctx context.Context, b *bench) error {
	binary, err := b.whyslow(ctx)
	if err != nil {
		return err
	}
	dir, err := b.temp()
	if err != nil {
		return err
	}
	run, tiles := filepath.Join(dir, "run.trace"), b.pick(90, 10)
	if b.full {
		tiles = 128
	}
	if _, err := once(ctx, spec{File: "../examples/cholesky/cholesky.fa", Nodes: 2, Workers: 2,
		Args: []string{strconv.Itoa(tiles), "4"}, Recording: everything, Dir: run}); err != nil {
		return err
	}
	if err := trace.WriteRunInfo(run, &trace.RunInfo{Program: "cholesky.fa", Ended: trace.EndedDone,
		Nodes:     []trace.NodeInfo{{Node: 0, Workers: 2}, {Node: 1, Workers: 2}},
		Processes: []trace.ProcessInfo{{}}}); err != nil {
		return err
	}
	r, err := trace.Open(run)
	if err != nil {
		return err
	}
	events := float64(r.Events())
	r.Close()
	t := b.table("All tables as Parquet", fmt.Sprintf("`whyslow convert --format parquet` of %.2g million "+
		"events of the Cholesky example, 2 nodes of 2 workers, in a process of its own; all 22 tables, the "+
		"events among them.",
		events/1e6), "", "CPU seconds", "CPU seconds of 10 M events", "goal", "wall time, s", "MB",
		"MB of memory at most")
	for _, memory := range []string{"12Gi", "512Mi"} {
		out := filepath.Join(dir, "out")
		cmd := exec.CommandContext(ctx, binary, "convert", "--format", "parquet", "--memory", memory, "-o", out,
			run)
		watch := start()
		text, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(text))
		}
		wall, _ := watch.stop()
		took := peakOfProcess(cmd.ProcessState)
		cpu := float64(took.CPUNS) / 1e9
		size, err := diskBytes(out)
		if err != nil {
			return err
		}
		t.row("--memory "+memory, cpu, cpu*1e7/events, "30", wall/1e9, float64(size)/1e6,
			float64(took.Bytes)/1e6)
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	return nil
}

// written writes a file.
func written(name string, write func(w *bufio.Writer)) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	write(w)
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// taskFile writes n events of the Trace Event Format: of eight, five are slices, two an arrow, one a counter.
func taskFile(name string, n int) error {
	return written(name, func(w *bufio.Writer) {
		fmt.Fprintln(w, `{"traceEvents": [`)
		const threads = 8
		names := []string{"load", "aten::addmm", "aten::relu", "backward", "optimizer.step"}
		for i := range n {
			tid, at := i/8%threads, int64(i/(8*threads))*100
			switch i % 8 {
			case 0:
				fmt.Fprintf(w, `{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":%d,"ts":%d.125,"dur":90,`+
					`"args":{"External id":%d,"Input Dims":[[32,64],[64,64]]}},`+"\n", names[i/8%len(names)], tid, at, i)
			case 5:
				fmt.Fprintf(w, `{"ph":"s","cat":"flow","name":"data","pid":1,"tid":%d,"ts":%d.125,"id":%d},`+"\n",
					tid, at+90, i/8)
			case 6:
				fmt.Fprintf(w, `{"ph":"f","bp":"e","cat":"flow","name":"data","pid":1,"tid":%d,"ts":%d.125,`+
					`"id":%d},`+"\n", (tid+1)%threads, at+100, i/8)
			case 7:
				fmt.Fprintf(w, `{"ph":"C","name":"memory","pid":1,"ts":%d.125,"args":{"bytes":%d}},`+"\n", at, i)
			default:
				fmt.Fprintf(w, `{"ph":"X","cat":"cpu_op","name":"aten::empty","pid":1,"tid":%d,"ts":%d.125,"dur":9,`+
					`"args":{"External id":%d}},`+"\n", tid, at+int64(i%8)*10, i)
			}
		}
		fmt.Fprintln(w, `{"ph":"M","pid":1,"name":"process_name","args":{"name":"train"}}]}`)
	})
}

// packets counts those of a Perfetto trace.
func packets(name string) (n int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	for ; ; n++ {
		if _, err := in.ReadByte(); err == io.EOF { // the tag
			return n, nil
		}
		size, err := binary.ReadUvarint(in)
		if err != nil {
			return 0, err
		}
		if _, err := in.Discard(int(size)); err != nil {
			return 0, err
		}
	}
}

// starpuAgain repeats a recorded run of StarPU up to n events.
func starpuAgain(dir string, n int) (events int, err error) {
	const recorded = "../internal/convert/foreign/starpu/testdata/cholesky/"
	tasks, err := os.ReadFile(recorded + "tasks.rec")
	if err != nil {
		return 0, err
	}
	paje, err := os.ReadFile(recorded + "paje.trace")
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return 0, err
	}
	const each = 1000 // numbers of tasks
	length := 0.0     // of the run, in ms
	var head, body [][]string
	for line := range strings.Lines(string(paje)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if k, err := strconv.Atoi(fields[0]); err != nil || k < 9 || len(fields) < 3 {
			head = append(head, fields)
			continue
		}
		at, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return 0, err
		}
		if fields[0] != "8" {
			body = append(body, fields)
		}
		length = max(length, at)
	}
	copies := max(n/(len(body)+3*strings.Count(string(tasks), "EndTime: ")), 1)
	moved := func(text string, copy int) string {
		at, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return text
		}
		return strconv.FormatFloat(at+float64(copy)*length, 'f', 6, 64)
	}
	numbered := func(text string, copy int) string {
		list := strings.Fields(text)
		for i, id := range list {
			if k, err := strconv.Atoi(id); err == nil {
				list[i] = strconv.Itoa(k + copy*each)
			}
		}
		return strings.Join(list, " ")
	}
	err = written(filepath.Join(dir, "paje.trace"), func(w *bufio.Writer) {
		for _, f := range head {
			fmt.Fprintln(w, strings.Join(f, "\t"))
		}
		const jobID = 9
		for copy := range copies {
			for _, f := range body {
				again := append([]string{}, f...)
				again[1] = moved(f[1], copy)
				if (f[0] == "20" || f[0] == "21") && len(f) > jobID {
					again[jobID] = numbered(f[jobID], copy)
				}
				fmt.Fprintln(w, strings.Join(again, "\t"))
				events++
			}
		}
	})
	if err != nil {
		return 0, err
	}
	return events, written(filepath.Join(dir, "tasks.rec"), func(w *bufio.Writer) {
		for copy := range copies {
			for line := range strings.Lines(string(tasks)) {
				line = strings.TrimSuffix(line, "\n")
				key, value, _ := strings.Cut(line, ": ")
				switch key {
				case "JobId", "DependsOn":
					line = key + ": " + numbered(value, copy)
				case "SubmitTime", "StartTime", "EndTime":
					line = key + ": " + moved(value, copy)
					events++
				}
				fmt.Fprintln(w, line)
			}
			fmt.Fprintln(w)
		}
	})
}

// ranks writes a trace of MPI ranks that compute, send to their neighbour and reduce: n events.
func ranks(dir string, n int) (events int, err error) {
	const size = 8
	info := trace.RunInfo{Program: "ranks", ID: trace.NewRunID(), Ended: trace.EndedDone,
		Settings: map[string]string{"program": "MPI"}}
	const perStep = 12 // events of a rank
	for rank := range size {
		info.Nodes = append(info.Nodes, trace.NodeInfo{Node: rank, Process: rank, Workers: 1})
		info.Processes = append(info.Processes, trace.ProcessInfo{})
	}
	if err := trace.WriteRunInfo(dir, &info); err != nil {
		return 0, err
	}
	for rank := range size {
		w, err := trace.Create(dir, rank, trace.Options{Run: info.ID, Sync: true})
		if err != nil {
			return 0, err
		}
		site := func(name string, kind trace.CodeKind) uint64 {
			code := uint32(kind) + 1
			w.DefineCode(trace.CodeDef{Code: code, Name: w.Name(name), Kind: kind})
			w.DefineSite(trace.SiteDef{Site: trace.Site(code), Code: code})
			return uint64(code)
		}
		work, send := site("compute", trace.Function), site("MPI_Isend", trace.Message)
		wait, reduce := site("MPI_Waitall", trace.Await), site("MPI_Allreduce", trace.Collective)
		s := w.Stream(0)
		s.Emit(0, trace.KindProgramStarted, uint64(rank), 0)
		to, from := uint64((rank+1)%size), uint64((rank+size-1)%size)
		at := int64(0)
		emit := func(d int64, k trace.Kind, words ...uint64) {
			at += d
			s.Emit(at, k, words...)
			events++
		}
		for i := range n / (size * perStep) {
			number := uint64(i) + 1
			emit(100, trace.KindEntered, work)
			emit(40_000, trace.KindExited, work)
			emit(100, trace.KindEntered, send)
			emit(50, trace.KindSent, to, 64, 1, 0, number)
			emit(200, trace.KindExited, send)
			emit(100, trace.KindEntered, wait)
			emit(300, trace.KindReceived, from, 64, 1, 0, number, 400)
			emit(10, trace.KindCompleted, number)
			emit(10, trace.KindExited, wait)
			emit(100, trace.KindEntered, reduce)
			emit(900, trace.KindCollective, uint64(w.Name("all-reduce")), uint64(w.Name("")), 0, 1, size, ^uint64(0),
				8, 8)
			emit(10, trace.KindExited, reduce)
		}
		s.Emit(at, trace.KindProgramFinished, 0)
		if err := w.Close(); err != nil {
			return 0, err
		}
	}
	return events, nil
}
