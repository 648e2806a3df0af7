// Package records writes the record files of LuNA's debug mode: which identities were made, which CFs ran
// with which inputs and outputs, which were left waiting. They lie in the current directory, one set per node
// R:
//
//	id.R.map.list      0 0>grid 9                                          identity, name, block that made it
//	cf.R.json.list     {"id":[0,14],"h":[0,9,11],"i":[[0,0,7,2]],"o":[[0,2]]}   CF, history, requested, posted
//	pending.R.json.list {"id":[0,15],"w":[{"i":[0,0,7,3],"n":"row[k]"}]}     CF, what it waits for
//
// A block number stands for a statement: its luna.Stmt.ID + 1, and 0 for the CF that starts main. A history
// is the list of blocks from main to the CF. Where all nodes are in one process a CF's record is among those
// of the node that made it, else among those of each node that ran it; histories then travel with CFs.
package records

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// Records are the record files of one run. It implements engine.Recorder.
type Records struct {
	prog *luna.Program
	dir  string

	node int // the node of this process; negative: all are here

	mu      sync.Mutex
	history map[trace.CF]step  // of every CF that ran or will run
	foreign map[trace.CF][]int // of CFs that ran in other processes
	files   map[string]*bufio.Writer
	open    []*os.File
	err     error
}

type step struct {
	parent trace.CF
	block  int
}

// New starts the record files of a process in dir; they appear with their first content. All nodes of the run
// are in this process (node < 0), or one of them: the others may have the same dir. Each process removes its
// nodes' id and cf files of a previous run; node 0's also removes files of nodes that no longer exist.
func New(dir string, prog *luna.Program, node, nodes int) (*Records, error) {
	err := removeOld(dir, func(n int) bool { return node < 0 || n == node || node == 0 && n >= nodes })
	if err != nil {
		return nil, err
	}
	return &Records{prog: prog, dir: dir, node: node, history: map[trace.CF]step{},
		foreign: map[trace.CF][]int{}, files: map[string]*bufio.Writer{}}, nil
}

// removeOld removes id and cf files of nodes.
func removeOld(dir string, of func(node int) bool) error {
	for _, pattern := range []string{"id.*.map.list", "cf.*.json.list"} {
		old, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, f := range old {
			node, err := strconv.Atoi(strings.Split(filepath.Base(f), ".")[1])
			if err != nil || !of(node) {
				continue
			}
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// Block is the number that stands for a statement in histories.
func Block(p *luna.Program, st *luna.Stmt) int {
	if st == p.Main.Start {
		return 0
	}
	return st.ID + 1
}

// Names records the identities created by one entry of a block: first, first+1, ... of the node.
func (r *Records) Names(node int, first uint64, b *luna.Block) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, d := range b.Names {
		r.line(fmt.Sprintf("id.%d.map.list", node), fmt.Sprintf("%d %d>%s %d", node, first+uint64(i),
			r.prog.Decls[d].Name, Block(r.prog, b.Owner)))
	}
}

// CF records that a CF runs, with the identities it requests and posts.
func (r *Records) CF(id, parent trace.CF, st *luna.Stmt, inputs, outputs [][]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history[id] = step{parent, Block(r.prog, st)}
	if st.Kind == luna.SubBody {
		return
	}
	node := r.node
	if node < 0 {
		node = id.Node()
	}
	r.json(fmt.Sprintf("cf.%d.json.list", node), struct {
		ID [2]uint64 `json:"id"`
		H  []int     `json:"h"`
		I  [][]int64 `json:"i,omitempty"`
		O  [][]int64 `json:"o,omitempty"`
	}{[2]uint64{uint64(id.Node()), id.Counter()}, r.blocks(id), inputs, outputs})
}

// blocks is the history of a CF, outermost first.
func (r *Records) blocks(id trace.CF) []int {
	var l []int
	for s, ok := r.history[id]; ok; s, ok = r.history[id] {
		l = append(l, s.block)
		id = s.parent
	}
	slices.Reverse(l)
	return slices.Concat(r.foreign[id], l)
}

// History returns the blocks from main to a CF that ran here or is known by Came.
func (r *Records) History(id trace.CF) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocks(id)
}

// Came adds the history of a CF that ran in another process, for the CFs that it created.
func (r *Records) Came(id trace.CF, history []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ran := r.history[id]; !ran {
		r.foreign[id] = history
	}
}

// Awaited is one DF that a CF waits for: its identity and the reference as printed.
type Awaited struct {
	ID   []int64 `json:"i"`
	Text string  `json:"n"`
}

// Pending records a CF that is left waiting.
func (r *Records) Pending(node int, id trace.CF, awaits []Awaited) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.json(fmt.Sprintf("pending.%d.json.list", node), struct {
		ID [2]uint64 `json:"id"`
		W  []Awaited `json:"w,omitempty"`
	}{[2]uint64{uint64(id.Node()), id.Counter()}, awaits})
}

func (r *Records) json(file string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	r.line(file, string(b))
}

func (r *Records) line(file, text string) {
	w := r.files[file]
	if w == nil {
		f, err := os.Create(filepath.Join(r.dir, file))
		if err != nil {
			r.err = errors.Join(r.err, err)
			return
		}
		w = bufio.NewWriterSize(f, 1<<20)
		r.files[file] = w
		r.open = append(r.open, f)
	}
	if _, err := w.WriteString(text + "\n"); err != nil && r.err == nil {
		r.err = err
	}
}

// Close writes everything out. It returns the first error of the whole run.
func (r *Records) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.files {
		r.err = errors.Join(r.err, w.Flush())
	}
	for _, f := range r.open {
		r.err = errors.Join(r.err, f.Close())
	}
	return r.err
}

// WriteBuild writes the two files that translate block numbers into source positions into the build
// directory. preprocessed.fa.ti has file, line, column from 0, and character for each character of the
// preprocessed text. cpp_blocks_info.json has the kind of each block and its place in that text.
func WriteBuild(dir string, p *luna.Program) error {
	paths, number := map[string]string{}, map[string]int{}
	var text [][4]any
	for i, c := range []rune(p.Text) {
		o := p.Origin[i]
		n, ok := number[o.File]
		if !ok {
			n = len(number)
			number[o.File] = n
			paths[fmt.Sprint(n)] = o.File
		}
		text = append(text, [4]any{n, o.Line - 1, o.Col - 1, string(c)})
	}
	if err := writeJSON(filepath.Join(dir, "preprocessed.fa.ti"),
		map[string]any{"paths": paths, "text": text}); err != nil {
		return err
	}
	at := map[luna.Pos]int{}
	for i := len(p.Origin) - 1; i >= 0; i-- {
		at[p.Origin[i]] = i
	}
	type info struct {
		Pos     int    `json:"pos"`
		Comment string `json:"comment"`
	}
	blocks := map[string]info{}
	for _, st := range p.Stmts {
		comment := "entry (migrate) " + strings.TrimSuffix(st.Text, ";") + ";"
		switch {
		case st == p.Main.Start:
			comment = "initial launcher: sub main()"
		case st.Kind == luna.SubBody:
			comment = "sub " + st.Sub.Name
		case st.Kind == luna.Atomic || st.Kind == luna.SubCall:
			label := cmp.Or(st.LabelName, fmt.Sprintf("_l%d", st.Line))
			comment = "entry (migrate) cf " + label + ": " + strings.TrimPrefix(comment, "entry (migrate) ")
		}
		blocks[fmt.Sprint(Block(p, st))] = info{at[st.Pos], comment}
	}
	return writeJSON(filepath.Join(dir, "cpp_blocks_info.json"), blocks)
}

func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o666)
}
