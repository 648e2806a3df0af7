package division

import (
	"encoding/binary"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Folding: of what is frozen and old only sums are kept, by buckets of equal length, the same ones for all workers. So the sums
// of any number of buckets stay exact. A bucket is a chunk like others, whose pieces go through the factors a few times, so that
// time within it is spread nearly evenly and questions need not know of buckets. When there are too many buckets
// their length doubles.

const (
	firstBucket = int64(1 << 20) // nanoseconds: about a millisecond
	fewBuckets  = 1 << 4         // of a worker, at least
	spread      = 8              // how often a bucket goes through the factors
)

// fold folds the older part of what is frozen, the more the greater the need.
func (d *Division) fold(age int) {
	until := d.horizon - d.start
	if from := d.folded; age == 0 {
		until = from + (until-from)/2
	}
	most := max(d.limit/8/int64(max(d.workers(), 1))/(chunkBytes+spread*16), fewBuckets)
	for until/d.bucket > most {
		d.bucket *= 2
	}
	until -= until % d.bucket
	if until < d.folded {
		until = d.folded - d.folded%d.bucket
	}
	d.folded = max(d.folded, until)
	for w := range d.eachWorker {
		w.fold(d.start + until)
	}
}

// fold folds a worker's chunks up to a time, an edge of buckets, as far as they are frozen.
func (w *worker) fold(until int64) {
	if w.frozen == 0 {
		return
	}
	until = min(until, w.chunks[w.frozen-1].to)
	length := w.d.bucket
	var out []*chunk
	b := &chunk{worker: w, frozen: true, from: w.chunks[0].from}
	flush := func(at int64) {
		if b.to = at; b.from < b.to {
			b.packed = spreadOut(&b.sum)
			out = append(out, b)
		}
		b = &chunk{worker: w, frozen: true, from: at}
	}
	i := 0
	for ; i < w.frozen; i++ {
		c := w.chunks[i]
		if c.from >= until {
			break
		}
		at, packed := c.from, c.packed
		for len(packed) > 0 && at < until {
			v, n := binary.Uvarint(packed)
			f, ns := slou.Factor(v&7), int64(v>>3)
			for ns > 0 && at < until {
				edge := min(w.d.start+((at-w.d.start)/length+1)*length, until)
				step := min(ns, edge-at)
				b.sum[f] += step
				ns -= step
				if at += step; at == edge {
					flush(at)
				}
			}
			if packed = packed[n:]; ns > 0 {
				packed = slices.Concat(binary.AppendUvarint(nil, uint64(ns)<<3|uint64(f)), packed)
			}
		}
		if at < c.to { // it reaches beyond
			flush(at)
			rest := *c
			rest.from, rest.packed, rest.sum = at, slices.Clone(packed), amounts{}
			upTo(rest.packed, at, rest.to, &rest.sum)
			out = append(out, &rest)
			i++
			break
		}
	}
	flush(min(until, b.from+b.sum.total()))
	w.frozen += len(out) - i
	w.chunks = slices.Concat(out, w.chunks[i:])
	w.replant()
}

// spreadOut packs sums as pieces that go through the factors several times.
func spreadOut(sum *amounts) []byte {
	var p pieces
	for i := range int64(spread) {
		for f, ns := range sum {
			p.add(slou.Factor(f), ns/spread*(i+1)+ns%spread*(i+1)/spread-ns/spread*i-ns%spread*i/spread)
		}
	}
	p.flush()
	return slices.Clip(p.out)
}

// trim forgets waits and parkings before what is frozen ends.
func (w *worker) trim() {
	if w.frozen == 0 || w.stream == nil {
		return
	}
	s, from := w.stream, w.chunks[w.frozen-1].to
	if w.simple && !w.cutsChanged && w.kept.begun {
		s.waits = slices.Clone(s.waits[w.kept.waits:])
		for i := range s.openWaits {
			s.openWaits[i].index -= w.kept.waits
		}
		gone := 0
		for gone < w.kept.cuts && w.waitCuts[gone].to <= from {
			gone++
		}
		w.waitCuts = slices.Clone(w.waitCuts[gone:])
		w.cuts = w.waitCuts
		w.kept.waits, w.kept.cuts = 0, w.kept.cuts-gone
	}
	gone := 0
	for ; gone < len(s.idle); gone++ {
		v := w.d.fixSpan(s.idle[gone], s.number)
		if v.to > from {
			break
		}
		s.idled += max(v.to-v.from, 0)
	}
	s.idle = slices.Clone(s.idle[gone:])
}
