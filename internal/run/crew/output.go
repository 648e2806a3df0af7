package crew

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// # Output of many processes
//
// What user code of all ranks prints comes out in one place, and no line within another. So each rank reads
// its own standard output from a pipe (capture.go) and gives whole lines to rank 0, which alone writes. What
// the ranks themselves tell the user (warnings, what modules write to the terminal) goes the same way.
//
//	rank r: fd 1 ─► pipe ─► lines ─► excerpts, numbered ─ network of the run ─► rank 0: in order, whole lines
//	                                 │ kept until acknowledged ◄──── ack ───┘         └─► standard output
//	                                 └── what is left when the run is over ── group ──►
//
// During the run excerpts travel as messages of kinds of their own, which the engine never sees. The network
// ends with the run and may drop what was sent last. So a rank keeps what is not acknowledged and gives it
// again at the end; the numbers tell rank 0 what it has. If rank 0 takes lines too slowly, a rank waits and
// its pipe fills, as any pipe does. After an interrupt nobody waits: each rank writes what is left itself.

const (
	kindLines = 250 // message kinds; the engine's are below
	kindAck   = 251

	pieceBytes   = 32 << 10  // of text in a message, at most
	windowBytes  = 512 << 10 // of text not acknowledged, at most
	longestLine  = 1 << 20   // longer ones come in pieces
	closingPause = 50 * time.Millisecond
)

// Streams of text.
const (
	toOut byte = iota
	toErr
	moreFollows = 0x80 // this piece ends within a line
)

// excerpt is text on its way to rank 0.
type excerpt struct {
	number uint64 // 1, 2, ...
	kind   byte   // toOut or toErr, with moreFollows
	text   []byte
}

func (p *excerpt) encode(b []byte) []byte {
	b = append(binary.AppendUvarint(b, p.number), p.kind)
	return append(b, p.text...)
}

func decodeExcerpt(b []byte) (p excerpt, ok bool) {
	number, n := binary.Uvarint(b)
	if n <= 0 || n == len(b) || b[n]&^moreFollows > toErr {
		return p, false
	}
	return excerpt{number, b[n], b[n+1:]}, true
}

// output carries what this rank prints to where it is to be read.
type output struct {
	rank     int
	ctx      context.Context // ends when the run is interrupted
	out, err io.Writer       // of this process; the others' text goes there, too, if it is rank 0
	failed   func(error)     // is told once that out cannot be written

	mu      sync.Mutex
	changed sync.Cond
	net     transport.Network // nil: there is none yet, or no more
	last    uint64            // number of the last piece
	waiting []excerpt         // not acknowledged
	size    int               // of their text
	direct  bool              // this rank writes itself

	// Rank 0.
	writing  sync.Mutex
	senders  []sendingRank
	open     int // rank that has begun a line, -1: none
	told     bool
	incoming chan arrived
	wrote    chan struct{} // all that came was written
}

// sendingRank is what rank 0 knows of another.
type sendingRank struct {
	taken uint64    // number of its last piece
	begun [2][]byte // text whose line is not complete, by stream
}

type arrived struct {
	from int
	head []byte
}

// newOutput is the output of a rank of size. out and err are what this process has as standard output and
// error.
func newOutput(ctx context.Context, rank, size int, out, err io.Writer) *output {
	o := &output{rank: rank, ctx: ctx, out: out, err: err, failed: func(error) {},
		senders: make([]sendingRank, size), open: -1}
	o.changed.L = &o.mu
	return o
}

// connect is what the engine is to connect with: the network it gets is shared.
func (o *output) connect(w World) func(deliver func(*transport.Message)) transport.Network {
	return func(deliver func(*transport.Message)) transport.Network {
		var net transport.Network
		ready := make(chan struct{})
		o.incoming, o.wrote = make(chan arrived, 64), make(chan struct{})
		stop := make(chan struct{})
		net = w.Connect(func(m *transport.Message) {
			if m.Kind < kindLines {
				deliver(m)
				return
			}
			<-ready // messages may come before Connect has returned
			o.deliver(m, stop)
		})
		if o.rank == 0 {
			go o.takeAll(net, stop)
		} else {
			close(o.wrote)
		}
		o.mu.Lock()
		o.net = net
		for i := range o.waiting {
			o.send(&o.waiting[i])
		}
		o.mu.Unlock()
		close(ready)
		return &sharedNetwork{net, o, stop, sync.Once{}}
	}
}

// sharedNetwork is the network as the engine has it.
type sharedNetwork struct {
	transport.Network
	o    *output
	stop chan struct{}
	once sync.Once
}

// Close gives what was printed last a moment to arrive if nothing else will carry it.
func (n *sharedNetwork) Close() {
	n.once.Do(func() {
		o := n.o
		if o.ctx.Err() != nil {
			until := time.Now().Add(closingPause)
			if o.rank == 0 {
				until = until.Add(closingPause)
			}
			for time.Now().Before(until) && (o.rank == 0 || o.unsent() > 0) {
				time.Sleep(closingPause / 10)
			}
		}
		o.mu.Lock()
		o.net = nil
		o.changed.Broadcast()
		o.mu.Unlock()
		close(n.stop)
		<-o.wrote
		n.Network.Close()
	})
}

func (o *output) unsent() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size
}

// deliver takes a message. It must not wait for the terminal, so rank 0 has a goroutine that does;
// windowBytes bound what is under way to it.
func (o *output) deliver(m *transport.Message, stop chan struct{}) {
	if m.Kind == kindAck {
		if number, n := binary.Uvarint(m.Head); n > 0 {
			o.acknowledged(number)
		}
		return
	}
	select {
	case o.incoming <- arrived{m.From, bytes.Clone(m.Head)}:
	case <-stop:
	}
}

// takeAll writes what comes, until the network is closed.
func (o *output) takeAll(net transport.Network, stop chan struct{}) {
	defer close(o.wrote)
	for {
		select {
		case a := <-o.incoming:
			if number, ok := o.take(a.from, a.head); ok {
				net.Send(&transport.Message{Kind: kindAck, From: 0, To: a.from, Head: binary.AppendUvarint(nil, number)})
			}
		case <-stop:
			return
		}
	}
}

// take writes a piece of another rank, unless it was written before, and returns its number.
func (o *output) take(from int, b []byte) (number uint64, ok bool) {
	p, ok := decodeExcerpt(b)
	if !ok || from <= 0 || from >= len(o.senders) {
		return 0, false
	}
	s := &o.senders[from]
	if p.number != s.taken+1 {
		return s.taken, p.number <= s.taken
	}
	s.taken = p.number
	begun := &s.begun[p.kind&^moreFollows]
	*begun = append(*begun, p.text...)
	if p.kind&moreFollows == 0 {
		o.write(from, p.kind, *begun)
		*begun = nil
	}
	return p.number, true
}

// write writes text of a rank at rank 0: lines, or what no line end follows.
func (o *output) write(rank int, kind byte, text []byte) {
	if len(text) == 0 {
		return
	}
	o.writing.Lock()
	defer o.writing.Unlock()
	if kind == toErr {
		_, _ = o.err.Write(text) // to the user's terminal: nobody is left to tell
		return
	}
	if o.open >= 0 && o.open != rank {
		text = append([]byte{'\n'}, text...)
	}
	o.open = -1
	if text[len(text)-1] != '\n' {
		o.open = rank
	}
	if _, err := o.out.Write(text); err != nil && !o.told {
		o.told = true
		o.failed(err)
	}
}

func (o *output) acknowledged(number uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for n < len(o.waiting) && o.waiting[n].number <= number {
		o.size -= len(o.waiting[n].text)
		n++
	}
	o.waiting = append(o.waiting[:0], o.waiting[n:]...)
	o.changed.Broadcast()
}

// send gives a piece to the network; o.mu is held.
func (o *output) send(p *excerpt) {
	if o.net != nil {
		o.net.Send(&transport.Message{Kind: kindLines, From: o.rank, To: 0, Head: p.encode(nil)})
	}
}

// put passes text on: lines, or what no line end follows.
func (o *output) put(kind byte, text []byte) {
	if len(text) == 0 {
		return
	}
	if o.rank == 0 {
		o.write(0, kind, text)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// What is said about the run comes from goroutines that must go on.
	for kind == toOut && o.net != nil && o.size >= windowBytes {
		o.changed.Wait()
	}
	if o.direct {
		o.writeHere(kind, text)
		return
	}
	for len(text) > 0 {
		n := min(len(text), pieceBytes)
		o.last++
		p := excerpt{o.last, kind, bytes.Clone(text[:n])}
		if text = text[n:]; len(text) > 0 {
			p.kind |= moreFollows
		}
		o.waiting = append(o.waiting, p)
		o.size += n
		o.send(&p)
	}
}

// writeHere writes at this rank; o.mu is held.
func (o *output) writeHere(kind byte, text []byte) {
	to := o.out
	if kind == toErr {
		to = o.err
	}
	_, _ = to.Write(text) // the run was interrupted: nobody is left to tell
}

// abandon writes here what has not gone to rank 0, and all that comes.
func (o *output) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.direct = true
	for _, p := range o.waiting {
		o.writeHere(p.kind&^moreFollows, p.text)
	}
	o.waiting, o.size = nil, 0
	o.changed.Broadcast()
}

// finish brings to rank 0 what is left, when the run is over and nothing is printed any more. All ranks call
// it.
func (o *output) finish(g procs.Group) error {
	o.mu.Lock() // user code that was left running may still cause warnings
	var rest []byte
	for i := range o.waiting {
		b := o.waiting[i].encode(nil)
		rest = append(binary.LittleEndian.AppendUint32(rest, uint32(len(b))), b...)
	}
	o.waiting, o.size = nil, 0
	o.mu.Unlock()
	came := make([][]byte, g.Size())
	return collectPieces(g, int64(len(rest)), func(b []byte, at int64) error {
		copy(b, rest[at:])
		return nil
	}, func(from int, b []byte) error {
		b = append(came[from], b...)
		for len(b) >= 4 {
			n := int(binary.LittleEndian.Uint32(b))
			if len(b)-4 < n {
				break
			}
			o.take(from, b[4:4+n])
			b = b[4+n:]
		}
		came[from] = bytes.Clone(b)
		return nil
	})
}
