package trace

// EventsIn is at most how many events there are of the times in a span, according to the headers of the
// blocks: events of blocks that reach beyond it count as well.
func (r *Reader) EventsIn(in Span) (n int) {
	for _, f := range r.files {
		for i := range f.blocks {
			if b := &f.blocks[i]; b.last >= in.From && b.first <= in.To {
				n += int(b.count)
			}
		}
	}
	return n
}
