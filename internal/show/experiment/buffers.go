package experiment

import (
	"context"
	"fmt"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/median"
	"github.com/whyslow/whyslow/internal/run/compile"
)

// Whether writing meanwhile is worth anything depends on the disk. A disk that is busy for half of the run
// is emulated in the program's own process (slow_disk.c): no file system has to be mounted and no control
// group be allowed, which takes root or a hypervisor that lets containers do so, and its speed does not
// depend on what else the machine does. TMPDIR chooses a real disk.

// written is the kernel that is written with various buffers: CG with transfers of 8 elements, some 30 MB of
// events of each thread. That is a 14th of what threads had in the source, and buffers are a 16th of its own.
var written = kernel{"CG", "cg", []int{150000, 12, 25, 8, 2}, []int{2000, 4, 10, 8, 1}, nil}

// disk is where events are written.
type disk struct {
	slow  bool
	speed int // of the slow disk, KB a second; 0: so that it is busy for a part of the run
}

// busyPart is the part of a run for which the slow disk is busy with its trace.
const busyPart = 1.0 / 2

// buffersCost is an experiment on writing with various buffers, synchronously and asynchronously.
func buffersCost(opt Options) *Cost {
	c := &Cost{Title: "writing the events of a PGAS program: buffers, synchronous and asynchronous, disks",
		Rounds: 6, Workers: pgasThreads(opt), judge: judgeBuffers, table: buffersTable}
	sizes := bufferSizes
	if opt.Quick {
		c.Rounds, sizes = 1, sizes[:1]
	}
	for _, slow := range []bool{false, true} {
		p := &CostProgram{What: "this computer's disk", kernel: written.sized(opt),
			disk: disk{slow: slow, speed: opt.PGAS["disk"]}, off: nothing("nothing recorded"),
			Modes: []*Mode{nothing("nothing recorded again")}}
		if slow {
			p.What = "a slow disk"
		}
		for _, b := range sizes {
			for i, how := range []string{synchronous, asynchronous} {
				// A thread has two buffers, as in the source. They are written when they are full, and only then.
				p.Modes = append(p.Modes, &Mode{Name: fmt.Sprintf("%d KiB, %s", b.size, how), tool: gaspTool,
					Source: b.source[i], Env: []string{fmt.Sprintf("WHYSLOW_BUFFER=%dk", b.size),
						fmt.Sprintf("WHYSLOW_SYNC=%d", 1-i), "WHYSLOW_POOL=1", "WHYSLOW_FLUSH=0"}})
			}
		}
		c.Programs = append(c.Programs, p)
	}
	c.run = func(ctx context.Context, at *place, p *CostProgram, m *Mode) (Took, error) {
		return p.kernel.run(ctx, at, c.Workers, p.disk, m)
	}
	c.first = func(ctx context.Context, at *place, p *CostProgram) error {
		if err := c.once(ctx, at, p); err != nil || !p.disk.slow {
			return err
		}
		if p.disk.speed == 0 {
			speed, err := c.busy(ctx, at, p)
			if err != nil {
				return err
			}
			p.disk.speed = speed
		}
		p.What = fmt.Sprintf("%s of %d KB/s", p.What, p.disk.speed)
		return nil
	}
	return c
}

const (
	synchronous  = "synchronous"
	asynchronous = "asynchronous"
)

// bufferSizes are the sizes of buffers, KiB, and the parts of the run that the source measured with buffers
// of 16 times the size.
var bufferSizes = []struct {
	size   int
	source [2]string
}{
	{64, [2]string{"26.09 %", "26.27 %"}}, {128, [2]string{"25.82 %", "23.51 %"}},
	{256, [2]string{"24.33 %", "17.67 %"}}, {512, [2]string{"17.16 %", "11.06 %"}},
	{1024, [2]string{"13.27 %", "1.80 %"}}, {2048, [2]string{"10.26 %", "0.88 %"}},
}

// busy finds the speed, KB a second, at which a disk is busy for a part of the run: the same for all
// programs.
func (c *Cost) busy(ctx context.Context, at *place, p *CostProgram) (speed int, err error) {
	without, err := p.kernel.run(ctx, at, c.Workers, disk{}, p.off)
	if err != nil {
		return 0, err
	}
	with, err := p.kernel.run(ctx, at, c.Workers, disk{}, p.Modes[1])
	if err != nil {
		return 0, err
	}
	return max(int(float64(with.Bytes)/1e3/(busyPart*float64(without.WallNS)/1e9)), 1), nil
}

// slowDisk is the library that makes writing slow.
func slowDisk(ctx context.Context) (string, error) {
	dir, err := sources()
	if err != nil {
		return "", err
	}
	return compile.Program{Name: "slow_disk.so", Dir: dir, Sources: []string{"slow_disk.c"},
		Flags: []string{"-O2", "-fPIC"}, Link: []string{"-shared"}}.Make(ctx)
}

// judgeBuffers: on a slow disk, writing meanwhile takes less of the run than writing at once, with some
// buffer.
func judgeBuffers(p *CostProgram) []Check {
	checks := []Check{p.quiet(p.Modes[0].Wall, 10), p.same()}
	if !p.disk.slow {
		return checks
	}
	best := func(from int) *Mode {
		m := p.Modes[from]
		for i := from; i < len(p.Modes); i += 2 {
			if p.Modes[i].Share.Percent < m.Share.Percent {
				m = p.Modes[i]
			}
		}
		return m
	}
	sync, async := best(1), best(2)
	return append(checks, p.less(fmt.Sprintf("with the best buffer for each, %s takes less of the run than %s",
		async.Name, sync.Name), async.Share, sync.Share))
}

// buffersTable is in the form of the source: for how long a thread was kept from its work by writing, the
// time of the run, and the part of it.
func buffersTable(p *CostProgram) [][]string {
	head := []string{"buffer"}
	for _, how := range []string{synchronous, asynchronous} {
		head = append(head, how+": t_o, s", "t, s", "t_o of t", "95 % interval", "the source")
	}
	rows := [][]string{head}
	for i, m := range p.Modes[1:] {
		seconds := func(of func(*Pair) int64) string {
			return fmt.Sprintf("%.3f", median.Of(m.values(func(p *Pair) float64 { return float64(of(p)) / 1e9 })))
		}
		if i%2 == 0 {
			size, _, _ := strings.Cut(m.Name, ",")
			rows = append(rows, []string{size})
		}
		last := &rows[len(rows)-1]
		*last = append(*last, seconds(func(p *Pair) int64 { return p.WaitedNS }),
			seconds(func(p *Pair) int64 { return p.WallNS }), fmt.Sprintf("%.2f %%", m.Share.Percent),
			m.Share.interval(), m.Source)
	}
	return rows
}
