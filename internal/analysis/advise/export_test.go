package advise

import (
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Alone is Advise in one process. Without a model, only the rules speak that need no more than sums.
func Alone(in Input) []Advice {
	if in.Model == nil {
		return in.advice(&facts{m: &model.Model{Info: &trace.RunInfo{}}})
	}
	list, err := Advise(in, procs.Alone())
	if err != nil {
		panic(err)
	}
	return list
}
