package prof_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// A program is killed while it records. It is this test binary run again; after each
// event it writes to a pipe what it has emitted, and a pipe survives the killing.

const (
	killDir     = "WHYSLOW_KILL_DIR"
	killStreams = 3
)

// killShapes are the ways of writing that are tried in turn.
var killShapes = []trace.Options{
	{BufferBytes: 1 << 10, Pool: 1},
	{BufferBytes: 4 << 10, Pool: 4},
	{BufferBytes: 2 << 10, Sync: true},
	{BufferBytes: 2 << 10, Pool: 2, Level: -1},
	{}, // defaults: little gets into the file so soon
}

// logged is an event in the child's own log.
type logged struct{ number, time int64 }

// recordUntilKilled emits and logs for ever.
func recordUntilKilled(dir string) {
	shape, err := strconv.Atoi(os.Getenv("WHYSLOW_KILL_SHAPE"))
	if err != nil {
		panic(err)
	}
	pipe := os.NewFile(3, "log")
	if err := trace.WriteRunInfo(dir,
		&trace.RunInfo{Nodes: []trace.NodeInfo{{Node: 0, Workers: killStreams}}}); err != nil {
		panic(err)
	}
	w, err := trace.Create(dir, 0, killShapes[shape])
	if err != nil {
		panic(err)
	}
	ses := prof.New()
	name := w.Name("A")
	for id := range killStreams {
		go func() {
			s := ses.Stream(0, id, w.Stream(id))
			var line [24]byte
			for n := int64(1); ; n++ {
				t := prof.Now()
				switch {
				case n == 1:
					ses.ProgramStarted.EmitAt(s, t, 0, 0)
				case n%2 == 0:
					ses.CFStarted.EmitAt(s, t, trace.MakeCF(id, uint64(n)), 1, []trace.DF{trace.DF(n), 7})
				default:
					df := trace.DF(killStreams*int(n) + id)
					w.DefineDF(df, name, []int64{int64(id), n})
					ses.DFStored.EmitAt(s, t, df, n)
				}
				binary.LittleEndian.PutUint64(line[0:], uint64(id))
				binary.LittleEndian.PutUint64(line[8:], uint64(n))
				binary.LittleEndian.PutUint64(line[16:], uint64(t))
				if _, err := pipe.Write(line[:]); err != nil {
					return
				}
			}
		}()
	}
	select {}
}

func TestKilled(t *testing.T) {
	if dir := os.Getenv(killDir); dir != "" {
		recordUntilKilled(dir)
	}
	budget := time.Duration(effort.Times(1, 4)) * time.Second
	begin := time.Now()
	rounds, events, lost := 0, 0, 0
	more := func() bool {
		return rounds < len(killShapes) || rounds < 100 && (time.Since(begin) < budget || events == 0 || lost == 0)
	}
	for ; !t.Failed() && more(); rounds++ {
		e, l := killOnce(t, rounds%len(killShapes))
		events += e
		lost += l
	}
	t.Logf("killed %d times: %d events read, %d were still in buffers", rounds, events, lost)
	if events == 0 || lost == 0 {
		t.Error("nothing was read, or nothing lost")
	}
}

// killOnce kills one child and checks what is left. It returns the number of events
// that were read and that were lost.
func killOnce(t *testing.T, shape int) (read, lost int) {
	dir := t.TempDir()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), killDir+"="+dir, fmt.Sprintf("WHYSLOW_KILL_SHAPE=%d", shape))
	cmd.ExtraFiles = []*os.File{in}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	var log [killStreams][]logged
	var kill sync.Once
	buf := make([]byte, 24<<10)
	held := 0
	for {
		n, err := out.Read(buf[held:])
		held += n
		whole := held / 24 * 24
		for b := buf[:whole]; len(b) > 0; b = b[24:] {
			le := binary.LittleEndian
			id := le.Uint64(b)
			log[id] = append(log[id], logged{int64(le.Uint64(b[8:])), int64(le.Uint64(b[16:]))})
		}
		held = copy(buf, buf[whole:held])
		if n > 0 {
			kill.Do(func() {
				time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { cmd.Process.Kill() })
			})
		}
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child was not killed but ended: %v", err)
	}

	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files := readKilled(t, r)
	problems := r.Problems()
	end := r.Span().To
	latest := int64(0)
	for _, l := range log {
		if len(l) > 0 {
			latest = max(latest, l[len(l)-1].time)
		}
	}
	gaps := r.Gaps()
	for id := range killStreams {
		file, emitted := files[id], log[id]
		// The file holds a beginning of what was emitted. The last event may have missed
		// the log, and a log that says nothing is of a worker that had not begun.
		if len(file) > len(emitted)+1 {
			t.Errorf("stream %d: %d events in the file, %d in the log", id, len(file), len(emitted))
			continue
		}
		for i, at := range file {
			if i < len(emitted) && (emitted[i].time != at || emitted[i].number != int64(i)+1) {
				t.Fatalf("stream %d: event %d has time %d, the log says %v", id, i, at, emitted[i])
			}
		}
		read += len(file)
		lost += max(len(emitted)-len(file), 0)
		from := r.Span().From
		if len(file) > 0 {
			from = file[len(file)-1]
		}
		// Every event that is missing lies in a time that a problem tells of.
		for _, e := range emitted[min(len(file), len(emitted)):] {
			if !slices.ContainsFunc(problems, func(p trace.Problem) bool {
				return p.Timed && p.Stream == id && p.From <= e.time && e.time <= p.To
			}) {
				t.Fatalf("stream %d lacks time %d and no problem tells it:\n%v", id, e.time, problems)
			}
		}
		// How much time that is: from the last event that is there to the last one that is
		// there of any stream, which is no more than the log says.
		var told int64
		for _, g := range gaps {
			if g.Stream == id {
				told += g.NS()
			}
		}
		if told != end-from || told > latest+1e9 {
			t.Errorf("stream %d: %d ns told to be missing, the log says %d to %d, of %d", id, told, from, end, latest)
		}
	}
	if limit := inBuffers(killShapes[shape]); lost > limit {
		t.Errorf("%d events lost, buffers hold %d: %+v", lost, limit, killShapes[shape])
	}
	return read, lost
}

// inBuffers is how many events all buffers hold; the smallest have 3 words.
func inBuffers(o trace.Options) int {
	size, pool := o.BufferBytes, o.Pool
	if size == 0 {
		size = 128 << 10
	}
	if pool == 0 {
		pool = 8
	}
	if o.Sync {
		pool = 0
	}
	return (pool + killStreams) * (size/8/3 + 1)
}

// readKilled reads the times of every stream, and checks that events are what the child
// emits, with their definitions.
func readKilled(t *testing.T, r *trace.Reader) (times [killStreams][]int64) {
	t.Helper()
	defs := r.Defs(0)
	for id := range killStreams {
		var b trace.Batch
		for c := r.Stream(0, id); c.Next(&b); {
			for i, at := range b.Time {
				times[id] = append(times[id], at)
				n := uint64(len(times[id]))
				var want []uint64
				var kind trace.Kind
				switch {
				case n == 1:
					kind, want = trace.KindProgramStarted, []uint64{0, 0}
				case n%2 == 0:
					kind, want = trace.KindCFStarted, []uint64{uint64(trace.MakeCF(id, n)), 1, 2, n, 7}
				default:
					df := killStreams*n + uint64(id)
					kind, want = trace.KindDFStored, []uint64{df, n}
					name, identity, ok := defs.DF(trace.DF(df), nil)
					if !ok || defs.Name(name) != "A" || !slices.Equal(identity, []int64{int64(id), int64(n)}) {
						t.Fatalf("DF %d is defined as %s%v", df, defs.Name(name), identity)
					}
				}
				if b.Kind[i] != kind || !slices.Equal(b.Args(i), want) {
					t.Fatalf("stream %d, event %d: %v %v, want %v %v", id, n, b.Kind[i], b.Args(i), kind, want)
				}
			}
		}
	}
	for _, p := range r.Problems() {
		if p.Kind == trace.Damaged {
			t.Errorf("problem: %v", p)
		}
	}
	return times
}
