package blame

import (
	"context"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
)

// Chains of producers lead to any time of any worker, so all pieces of time are kept: several for each CF. Of
// a trace too large for memory they are on disk, so they have no pointers.

// piece is what is kept of a slou.Piece: 40 bytes.
type piece struct {
	From, To int64
	Producer model.CF
	DF       model.DF
	Consumer model.CF
	waiting  uint32    // slou.Piece.Waiting: a number in waitNames
	link     [2]uint16 // no node has a higher number, see trace.MaxNode
	Factor   slou.Factor
	Part     slou.Part
}

// Link is that of a piece of L.
func (p *piece) Link() slou.Link { return slou.Link{From: int32(p.link[0]), To: int32(p.link[1])} }

// workerPieces are those of a worker, in order of time.
type workerPieces = slou.Kept[piece]

// waitNames are the names of what was waited for, by number.
type waitNames struct {
	mu     sync.Mutex
	number map[string]uint32
	list   []string
}

func (n *waitNames) add(name string) uint32 {
	if name == "" {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	k, ok := n.number[name]
	if !ok {
		k = uint32(len(n.list))
		n.number[name], n.list = k, append(n.list, name)
	}
	return k
}

// maxPieces bounds how many pieces of the division of time Compute keeps: 2.7 GB.
const maxPieces = 64 << 20

// keepPieces keeps the pieces of the own nodes' workers.
func (b *blamer) keepPieces(ctx context.Context, to *memory.Spill) (err error) {
	b.names = waitNames{number: map[string]uint32{}, list: []string{""}}
	b.workers, err = slou.Keep(ctx, b.m, slou.Options{Rule: b.opt.Rule, Patterns: b.opt.Patterns,
		MaxPieces: maxPieces}, b.g, to, func(p *slou.Piece) piece {
		return piece{p.From, p.To, p.Producer, p.DF, p.Consumer, b.names.add(p.Waiting()),
			[2]uint16{uint16(p.Link.From), uint16(p.Link.To)}, p.Factor, p.Part}
	})
	return err
}

// waiting says what a worker waited for in a piece, as slou.Piece.Waiting.
func (b *blamer) waiting(p *piece) string { return b.names.list[p.waiting] }
