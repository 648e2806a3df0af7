package pattern

import "github.com/whyslow/whyslow/internal/model"

var nxnCompletion = pattern{
	id: "nxn-completion", name: "N x N completion", number: 7, parent: "collective",
	doc: "Time in an operation in which all get data from all after all had entered it and the first one had " +
		"left.",
	when: func(in *instance) bool { return in.allToAll() && in.sync.Out != model.SyncNo },
	lost: func(in *instance, k int) (from, to int64, late int) { return in.firstLeave(), in.left[k], -1 },
}
