package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// How TestSoak goes on. WHYSLOW_SOAK says how long, such as 1h.
const (
	soakAttackers = 8
	soakToken     = "soak"
	soakPatience  = 10 * time.Minute // for whatever must come
	soakMemory    = 256 << 20        // --memory
)

// soakSenders is how many honest senders there are all the time.
var soakSenders = effort.Times(12, 64)

func soakTime(t *testing.T) time.Duration {
	usual := "4s"
	if effort.Long {
		usual = "10m"
	}
	d, err := time.ParseDuration(cmp.Or(os.Getenv("WHYSLOW_SOAK"), usual))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSoak: many honest senders, programs that run to their end, and one run that is attacked by name, while
// attackers do whatever they can, the collector is started again twice, once after kill -9, its disk is full
// for a while, and folders are removed. In the end every trace is there event for event, nobody was sent
// away, and the collector has kept to its --memory. In minutes its memory and descriptors stay level, and
// they go back when all have left. It ends on Ctrl+C while it is attacked.
func TestSoak(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	part, some := soakTime(t)/5, effort.Times(10, len(attacks))
	s := newSoak(t)
	s.start("")
	victim := s.newVictim()
	var senders []*honest
	for range soakSenders {
		senders = append(senders, s.newHonest())
	}
	s.until("everybody is there", func() bool {
		return victim.connected() && !slices.ContainsFunc(senders, func(h *honest) bool { return !h.connected() })
	})
	begin := s.size()
	programs := s.runPrograms(max(part/8, 200*time.Millisecond))

	stop := s.attack(victim.id)
	s.phase("attacked", part, len(attacks))
	s.stop(os.Interrupt)
	s.start(s.addr)
	s.phase("started again", part, some)
	s.stop(os.Kill)
	s.start(s.addr)
	s.takeFolder(senders[0], os.RemoveAll)
	s.takeFolder(senders[1], func(dir string) error {
		return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o777))
	})
	s.fillDisk(senders)
	s.phase("started again after kill -9, with a full disk", part, some)
	warm := s.phase("warm", part, some)
	end := s.phase("the same again", part, some)
	if effort.Long && end.rss > warm.rss+warm.rss*15/100+32<<20 {
		t.Errorf("memory grows: %d MB, then %d MB", warm.rss>>20, end.rss>>20)
	}
	if effort.Long && end.files > warm.files+warm.files*15/100+32 {
		t.Errorf("descriptors grow: %d, then %d", warm.files, end.files)
	}
	stop()

	programs()
	all, events := append(senders, victim), uint64(0)
	var work sync.WaitGroup
	for _, h := range all {
		work.Go(h.finish)
	}
	work.Wait()
	kept := s.kept()
	for _, h := range all {
		events += h.events
		sameBlocks(t, kept[h.id], h.src)
	}
	s.until("few descriptors", func() bool { return s.size().files <= warm.files })
	if effort.Long { // it takes minutes
		s.until("what was looked at is forgotten", func() bool { return s.size().files <= begin.files })
		s.until("memory goes back", func() bool { return s.size().rss <= begin.rss+64<<20 })
	}
	after := s.size()

	stop = s.attack(victim.id)
	s.phase("attacked while it ends", 0, 10)
	s.stop(os.Interrupt)
	stop()
	t.Logf("%d events of %d senders; %d attacks of %d kinds; the victim was taken over %d times; %d programs;"+
		" memory %d MB, then %d MB and %d MB, at most %d MB, %d MB when all have left; descriptors %d, then %d and"+
		" %d, %d", events, len(senders), s.attacked.Load(), len(attacks), victim.taken.Load(), s.programs,
		begin.rss>>20, warm.rss>>20, end.rss>>20, s.peak>>20, after.rss>>20, begin.files, warm.files, end.files,
		after.files)
}

// soak is what TestSoak works with.
type soak struct {
	*testing.T
	home, dir, addr string
	small           bool // dir is a disk of its own

	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr *linesOf

	attacked atomic.Int64
	counts   []atomic.Int64 // of each of attacks
	last     []atomic.Value // error of each
	programs int
	peak     int64 // bytes of memory that a collector took at most
}

func newSoak(t *testing.T) *soak {
	s := &soak{T: t, home: lunaHome(t), dir: t.TempDir(), counts: make([]atomic.Int64, len(attacks)),
		last: make([]atomic.Value, len(attacks))}
	if err := syscall.Mount("tmpfs", s.dir, "tmpfs", 0, "size=4g"); err == nil {
		s.small = true
		t.Cleanup(func() { _ = syscall.Unmount(s.dir, 0) })
	}
	return s
}

func (s *soak) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// until waits for a condition.
func (s *soak) until(what string, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(soakPatience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("never came: %s\n%s", what, s.stderr.text())
		}
	}
}

// start starts the collector; addr "" is any port that no connection is given by itself.
func (s *soak) start(addr string) {
	s.Helper()
	for end := time.Now().Add(soakPatience); ; {
		s.addr = cmp.Or(addr, fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		s.cmd = exec.Command(filepath.Join(s.home, "bin", "whyslow"), "serve", "--listen", s.addr, "--dir", s.dir,
			"--memory", fmt.Sprint(soakMemory), "--idle", "2s",
			"--max-address-runs", fmt.Sprint(soakSenders+1+mostPrograms))
		s.cmd.Env = append(os.Environ(), console.Tokens+"="+soakToken)
		s.stderr = &linesOf{}
		s.cmd.Stderr = s.stderr
		stdout, err := s.cmd.StdoutPipe()
		s.must(err)
		s.must(s.cmd.Start())
		s.Cleanup(func() { _ = s.cmd.Process.Kill() })
		s.stdout = bufio.NewReader(stdout)
		if _, err := s.stdout.ReadString('\n'); err == nil {
			return
		}
		if err := s.cmd.Wait(); time.Now().After(end) {
			s.Fatalf("the collector does not start: %v\n%s", err, s.stderr.text())
		}
		time.Sleep(100 * time.Millisecond) // its port may be taken
	}
}

// stop ends the collector.
func (s *soak) stop(how os.Signal) {
	s.Helper()
	s.must(s.cmd.Process.Signal(how))
	_, _ = io.Copy(io.Discard, s.stdout)
	err := s.cmd.Wait()
	if err != nil && how != os.Kill || s.stderr.fault {
		s.Errorf("the collector ended: %v\n%s", err, s.stderr.text())
	}
}

// size is how much the collector takes.
type size struct {
	rss, peak int64 // bytes
	files     int
}

func (s *soak) size() (n size) {
	dir := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	text, err := os.ReadFile(dir + "status")
	s.must(err)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case f[0] == "VmRSS:":
			n.rss, _ = strconv.ParseInt(f[1], 10, 64)
		case f[0] == "VmHWM:":
			n.peak, _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	n.rss, n.peak = n.rss<<10, n.peak<<10
	list, err := os.ReadDir(dir + "fd")
	s.must(err)
	n.files = len(list)
	return n
}

// phase waits for so long, and until so many kinds of attacks have taken place. It returns the medians of
// what the collector took. Memory may exceed the limit by what is no heap: the program itself, stacks, what
// the kernel gives back late.
func (s *soak) phase(what string, long time.Duration, kinds int) (usual size) {
	s.Helper()
	before := make([]int64, len(attacks))
	for i := range attacks {
		before[i] = s.counts[i].Load()
	}
	missing := func() (list []string) {
		for i, a := range attacks {
			if s.counts[i].Load() == before[i] {
				list = append(list, fmt.Sprintf("%s: %v", a.name, s.last[i].Load()))
			}
		}
		return list
	}
	begin := time.Now()
	var all []size
	for ; time.Since(begin) < long || len(attacks)-len(missing()) < kinds; time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > long+soakPatience {
			s.Fatalf("%s: these attacks never take place: %q\n%s", what, missing(), s.stderr.text())
		}
		all = append(all, s.size())
	}
	last := s.size()
	all = append(all, last)
	slices.SortFunc(all, func(a, b size) int { return cmp.Compare(a.rss, b.rss) })
	usual.rss = all[len(all)/2].rss
	slices.SortFunc(all, func(a, b size) int { return cmp.Compare(a.files, b.files) })
	usual.files = all[len(all)/2].files
	if s.peak = max(s.peak, last.peak); usual.rss > soakMemory*5/4 || last.peak > soakMemory*3/2+64<<20 {
		s.Errorf("%s: memory of %d MB, at most %d MB, with --memory %d MB", what, usual.rss>>20, last.peak>>20,
			soakMemory>>20)
	}
	s.Logf("%s: %v, %d attacks in all, %d MB, at most %d MB, %d descriptors", what,
		time.Since(begin).Round(time.Second), s.attacked.Load(), usual.rss>>20, last.peak>>20, usual.files)
	return usual
}

// attack has attackers do everything they can, over and over, until it is stopped.
func (s *soak) attack(victim string) (stop func()) {
	blocks := smallBlocks(s)
	over := make(chan struct{})
	var work sync.WaitGroup
	var next atomic.Int64
	for i := range soakAttackers {
		a := &attacker{addr: s.addr, token: soakToken, from: net.IPv4(127, 0, 1, byte(1+i)),
			rnd: rand.New(rand.NewPCG(uint64(i), 1)), dir: s.dir, victim: victim, blocks: blocks}
		work.Go(func() {
			defer a.close()
			for {
				select {
				case <-over:
					return
				default:
				}
				i := int(next.Add(1)-1) % len(attacks)
				if err := attacks[i].do(a); err != nil {
					s.last[i].Store(fmt.Sprint(err))
					time.Sleep(10 * time.Millisecond) // the collector may be down
					continue
				}
				s.counts[i].Add(1)
				s.attacked.Add(1)
			}
		})
	}
	return func() {
		close(over)
		work.Wait()
	}
}

// takeFolder does something to the folder of a run while it is sent, and waits until it is there again.
func (s *soak) takeFolder(h *honest, do func(dir string) error) {
	s.Helper()
	s.until("the folder is there", func() bool { return s.kept()[h.id] != "" })
	s.must(do(s.kept()[h.id]))
}

// fillDisk lets nothing be written until the collector and a sender have said so: with a disk that is full,
// if there is one, and with a limit on the length of files.
func (s *soak) fillDisk(senders []*honest) {
	s.Helper()
	told := func(text string) func() bool {
		return func() bool {
			return strings.Contains(s.stderr.text(), text) &&
				slices.ContainsFunc(senders, func(h *honest) bool { return strings.Contains(h.told.text(), text) })
		}
	}
	pid := s.cmd.Process.Pid
	var free unix.Rlimit
	s.must(unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &free))
	s.must(unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: free.Max}, nil))
	s.until("no file may grow", told("file too large"))
	s.must(unix.Prlimit(pid, unix.RLIMIT_FSIZE, &free, nil))
	if !s.small {
		s.Log("no disk could be mounted: only the limit on the length of files was tried")
		return
	}
	s.until("the disk is full", func() bool {
		var st syscall.Statfs_t
		s.must(syscall.Statfs(s.dir, &st))
		used := (st.Blocks - st.Bfree) * uint64(st.Bsize)
		size := fmt.Sprintf("size=%d", used)
		_ = syscall.Mount("tmpfs", s.dir, "tmpfs", syscall.MS_REMOUNT, size) // it may grow meanwhile
		return told("no space left")()
	})
	s.must(syscall.Mount("tmpfs", s.dir, "tmpfs", syscall.MS_REMOUNT, "size=4g"))
}

// kept are the folders of the runs, by id.
func (s *soak) kept() map[string]string {
	list, err := filepath.Glob(filepath.Join(s.dir, "*.trace"))
	s.must(err)
	kept := map[string]string{}
	for _, dir := range list {
		if info, err := trace.ReadRunInfo(dir); err == nil {
			kept[info.ID] = dir
		}
	}
	return kept
}

// mostPrograms is how many programs are run: one address may begin so many runs and those of the senders.
const mostPrograms = 35

// runPrograms runs programs, one in a while, until stop is called: then all are kept, and ended well.
func (s *soak) runPrograms(pause time.Duration) (stop func()) {
	tmp := s.TempDir()
	source := filepath.Join(tmp, "say.fa")
	text := "C++ sub say() ${{ printf(\"said\\n\"); $}}\nsub main() say();\n"
	s.must(os.WriteFile(source, []byte(text), 0o666))
	over := make(chan struct{})
	var work sync.WaitGroup
	var traces []string
	work.Go(func() {
		for i := range mostPrograms {
			select {
			case <-over:
				return
			case <-time.After(pause):
			}
			dir := filepath.Join(tmp, fmt.Sprintf("say.%d.trace", i))
			cmd := exec.Command(filepath.Join(s.home, "bin", "whyslow"), "run", "-q", "-o", dir, "--to", s.addr,
				"--to-token", soakToken, "--to-wait", soakPatience.String(), source)
			if text, err := cmd.Output(); err != nil || !strings.HasPrefix(string(text), "said") {
				s.Errorf("program %d: %v\n%s", i, err, text)
				return
			}
			traces = append(traces, dir)
		}
	})
	return func() {
		close(over)
		work.Wait()
		kept := s.kept()
		for _, dir := range traces {
			info, err := trace.ReadRunInfo(dir)
			s.must(err)
			sameBlocks(s.T, kept[info.ID], dir)
		}
		s.programs = len(traces)
	}
}

// honest records a run and sends it.
type honest struct {
	s      *soak
	src    string
	id     string
	info   *trace.RunInfo
	cfg    stream.Config
	told   linesOf
	events uint64
	taken  atomic.Int64 // how often another sender took its node over

	over chan struct{}
	ctx  context.Context
	work sync.WaitGroup

	mu     sync.Mutex
	sender *stream.Sender
}

// newHonest starts to record and to send; finish ends it. A refusal for good is an error.
func (s *soak) newHonest() *honest { return s.record(false) }

// newVictim is an honest sender whose node others take over: then it is started again.
func (s *soak) newVictim() *honest { return s.record(true) }

func (s *soak) record(again bool) *honest {
	h := &honest{s: s, src: filepath.Join(s.TempDir(), "a.trace"), id: trace.NewRunID(),
		over: make(chan struct{})}
	h.info = &trace.RunInfo{ID: h.id, Program: "honest.fa", Nodes: []trace.NodeInfo{{Node: 0, Workers: 2}}}
	s.must(trace.WriteRunInfo(h.src, h.info))
	w, err := trace.Create(h.src, 0, trace.Options{Run: h.id, BufferBytes: 4 << 10,
		FlushEvery: 50 * time.Millisecond})
	s.must(err)
	h.cfg = stream.Config{Target: stream.Target{Addr: s.addr, Token: soakToken}, Source: stream.Folder(h.src),
		Longest: time.Second, Notify: func(line string) { _, _ = io.WriteString(&h.told, line+"\n") }}
	h.work.Go(func() {
		defer func() {
			if err := w.Close(); err != nil {
				s.Error(err)
			}
		}()
		for burst := 0; ; burst++ {
			n := 20 + rand.IntN(40)
			emitSome(w, burst, n)
			h.events += uint64(n)
			select {
			case <-h.over:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	s.Cleanup(cancel)
	h.ctx = ctx
	h.begin()
	go func() {
		for {
			now := h.now()
			<-now.Done()
			var refusal *stream.Refusal
			switch err := now.Stats().Err; {
			case now.Stats().Done || ctx.Err() != nil:
				return
			case again && errors.As(err, &refusal) && refusal.Code == stream.RefusedTaken:
				h.taken.Add(1)
				time.Sleep(50 * time.Millisecond)
				h.begin()
			default:
				s.Errorf("an honest sender was sent away: %v", err)
				return
			}
		}
	}()
	return h
}

// begin starts a sender of the run.
func (h *honest) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sender = stream.NewSender(h.cfg)
	go func(s *stream.Sender) { _ = s.Run(h.ctx) }(h.sender) // Stats tells
}

func (h *honest) now() *stream.Sender {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sender
}

// connected tells whether some of it is kept.
func (h *honest) connected() bool { return h.now().Stats().Sent.Blocks > 0 }

// finish ends the run, and waits until all of it is kept.
func (h *honest) finish() {
	close(h.over)
	h.work.Wait()
	h.info.Ended = trace.EndedDone
	if err := trace.WriteRunInfo(h.src, h.info); err != nil {
		h.s.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), soakPatience)
	defer cancel()
	if err := h.now().Drain(ctx); err != nil || h.now().Stats().Dropped != (stream.Amount{}) {
		h.s.Errorf("%v, dropped %+v\n%s", err, h.now().Stats().Dropped, h.told.text())
	}
}

// emitSome records events of one burst, with definitions among them.
func emitSome(w *trace.Writer, burst, n int) {
	for i := range n {
		now, id := int64(burst)*1e9+int64(i)*100, uint64(burst*1e5+i+1)
		st := w.Stream(i % 3)
		if i%10 == 0 {
			w.DefineDF(trace.DF(id), w.Name("x"), []int64{0, 0, int64(burst), int64(i)})
			st.Emit(now, trace.KindDFStored, id, uint64(i))
			continue
		}
		st.Emit(now, trace.KindReadyQueue, id)
	}
}

// rawBlocks are the blocks of a trace, whose Bytes stay valid.
func rawBlocks(t testing.TB, dir string) (list []tracefile.RawBlock) {
	t.Helper()
	f := follow.New(dir)
	if _, err := f.Poll(t.Context(), func(b *tracefile.RawBlock) error {
		list = append(list, *b)
		list[len(list)-1].Bytes = bytes.Clone(b.Bytes)
		return nil
	}); err != nil {
		t.Errorf("%s: %v", dir, err)
	}
	if p := f.Problems(); len(p) > 0 {
		t.Errorf("%s: %v", dir, p)
	}
	return list
}

// sameBlocks fails unless a folder has all blocks of a trace, no others, and its end.
func sameBlocks(t testing.TB, got, want string) {
	t.Helper()
	if got == "" {
		t.Errorf("nothing is kept of %s", want)
		return
	}
	blocks := func(dir string) map[string][]byte {
		m := map[string][]byte{}
		for _, b := range rawBlocks(t, dir) {
			m[fmt.Sprint(b.Node, b.Defs, b.Stream, b.Number)] = b.Bytes
		}
		return m
	}
	if a, b := blocks(got), blocks(want); !maps.EqualFunc(a, b, bytes.Equal) {
		t.Errorf("%s has %d blocks, others than the %d of %s", got, len(a), len(b), want)
	}
	a, err := trace.ReadRunInfo(got)
	if err != nil || a.Ended != trace.EndedDone {
		t.Errorf("%s: ended %q, %v", got, a.Ended, err)
	}
}

var faults = regexp.MustCompile(`panic|goroutine \d|fault|did not shut down`)

// linesOf keeps the last of what is written.
type linesOf struct {
	mu   sync.Mutex
	last []byte
	// fault is whether something was said that a collector must not say.
	fault bool
}

func (l *linesOf) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = l.fault || faults.Match(b)
	l.last = append(l.last, b...)
	if len(l.last) > 1<<17 {
		l.last = bytes.Clone(l.last[1<<16:])
	}
	return len(b), nil
}

func (l *linesOf) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.last)
}
