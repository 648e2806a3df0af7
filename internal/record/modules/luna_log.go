//go:build !no_luna_log_module

package modules

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/whyslow/whyslow/internal/record/lunalog"
	"github.com/whyslow/whyslow/prof"
)

func init() {
	info := prof.ModuleInfo{
		Name:   "luna_log_module",
		Doc:    "LuNA's own text trace, written during the run",
		Output: "log.NN for each node, in the folder dir",
		Cost: "170 to 210 ns per event; about 150 bytes per live CF; one of 64 locks per CF, and a lock when a " +
			"full buffer is passed on",
		Params: []prof.Param{
			{Name: "dir", Default: "luna-log", Doc: "folder of the files; created if missing, and existing files " +
				"are overwritten"},
			{Name: "buffer", Default: 1 << 16, Doc: bufferDoc},
		},
		New: func() prof.Module { return &lunaLog{} },
	}
	for _, k := range lunalog.Kinds {
		info.Events = append(info.Events, k.String())
	}
	prof.RegisterModule(info)
}

// lunaLog is luna_log_module.
type lunaLog struct {
	first int // node
	nodes []*ordered
}

// Start connects the module.
func (m *lunaLog) Start(h *prof.Host) error {
	h.WantDFs()
	if err := os.MkdirAll(h.String("dir"), 0o777); err != nil {
		return err
	}
	m.first = h.Run().Node
	for i := range h.Run().Nodes {
		out, err := h.OpenNamed(filepath.Join(h.String("dir"), fmt.Sprintf("log.%02d", m.first+i)))
		if err != nil {
			return err
		}
		node, err := openOrdered(h, out)
		if err != nil {
			return err
		}
		m.nodes = append(m.nodes, node)
	}
	log := lunalog.New(h.Run().StartNS, m.first+len(m.nodes), func() lunalog.Describer { return h.Describe() })
	for _, k := range lunalog.Kinds {
		err := h.Connect(k.Spec().Namespace, k.Spec().Name, func(s *prof.Stream, a *prof.Any) {
			l := m.nodes[s.Node()-m.first].lane(s)
			before := len(l.text)
			l.text = log.Append(l.text, s.Node(), a.Time, k, a.Words)
			if len(l.text) > before {
				l.done(a.Time)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Finish writes what is left.
func (m *lunaLog) Finish() error {
	for _, n := range m.nodes {
		n.flush()
	}
	return nil
}
