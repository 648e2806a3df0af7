package properties

import "github.com/whyslow/whyslow/internal/model"

// emitCopies tells what the copies of a DF at one node change; see model.HoldCopies.
func emitCopies(out sink, node int32, facts []model.CopyFact, made []model.Value, sign int64) {
	var buf [4]model.HeldCopy
	for _, h := range model.HoldCopies(buf[:0], facts, made) {
		emitHeld(out, node, &h, sign)
	}
}

// emitHeld tells what a copy at a node changes.
func emitHeld(out sink, node int32, h *model.HeldCopy, sign int64) {
	if h.From == model.None {
		return
	}
	emitCopy(out, node, h.From, h.Bytes, sign)
	if h.To != model.None {
		emitCopy(out, node, h.To, h.Bytes, -sign)
	}
}

// emitCopy tells what one copy more, or one less, changes.
func emitCopy(out sink, node int32, t, size, sign int64) {
	for _, place := range [...]int32{node, whole} {
		out.add(copies, place, t, sign)
		out.add(objects, place, t, sign)
		if size != 0 {
			out.add(bytes, place, t, sign*size)
		}
	}
}

// emitDF tells how a DF changes the number of DFs there are. Of one destroyed more often than it was created the first
// destructions, in the order of nodes and streams, are left out.
func emitDF(out sink, made []model.Value, gone []model.CopyFact, sign int64) {
	for _, v := range made {
		out.add(dfs, whole, v.Time, sign)
	}
	for i := max(len(gone)-len(made), 0); i < len(gone); i++ {
		out.add(dfs, whole, gone[i].Time, -sign)
	}
}
