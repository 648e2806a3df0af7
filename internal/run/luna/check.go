package luna

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Options say what to compile.
type Options struct {
	File     string                            // path of the program, used in messages
	Source   []byte                            // its text; nil: read from File
	Defines  []Define                          // from -D
	ReadFile func(path string) ([]byte, error) // reads File and includes; nil: ReadInclude
}

// Define is a macro given on the command line.
type Define struct{ Name, Text string }

// Defines reads definitions from a command line: NAME or NAME=TEXT.
func Defines(words []string) []Define {
	var list []Define
	for _, w := range words {
		name, text, _ := strings.Cut(w, "=")
		list = append(list, Define{Name: name, Text: text})
	}
	return list
}

// Compile compiles a program. The error is an *Error.
func Compile(o Options) (*Program, error) {
	rep := &reporter{}
	pre := preprocess(o, rep)
	if err := rep.err(); err != nil {
		return nil, err
	}
	src := &source{rep, pre}
	defs, heads := parse(src)
	if err := rep.err(); err != nil {
		return nil, err
	}
	c := &checker{source: src, prog: &Program{File: o.File}, defs: map[string]*def{}, codes: map[codeKey]int{}}
	c.program(defs, heads)
	if err := rep.err(); err != nil {
		return nil, err
	}
	rep.sort(rep.warnings)
	c.prog.Warnings = rep.warnings
	c.prog.Text = encode(pre.text)
	c.prog.Origin = make([]Pos, len(pre.org))
	for i := range pre.org {
		c.prog.Origin[i] = src.pos(int32(i))
	}
	return c.prog, nil
}

// checker resolves names and types, and lowers statements. One pass over each sub builds statements and
// expressions. Only the end of a pass shows which blocks have frames and which names have slots, so Depth and
// Slot are filled in then (fixes).
type checker struct {
	*source
	prog     *Program
	defs     map[string]*def
	codes    map[codeKey]int
	parents  []*Block // by Block.ID
	fixes    []fix
	symbols  int
	expanded int // nodes made by let substitution
	edges    []edge
	names    []*symbol // DF names and labels of the sub being checked
	dfs      []*symbol // all DF names, for warnings
}

type codeKey struct {
	kind CodeKind
	of   any // *Routine, *Sub or *Stmt
}

// fix is a reference to sym from an expression evaluated in the frame of from.
type fix struct {
	from        *Block
	sym         *symbol
	depth, slot *int // of the reference
}

func (c *checker) program(defs []*def, heads []int) {
	live := c.define(defs)
	for _, h := range heads {
		c.prog.Heads = append(c.prog.Heads, c.blocks[h])
	}
	for _, d := range live {
		if d.kind == defSub {
			c.sub(d)
		}
	}
	c.main()
	c.warnUninitialised()
	if c.err() == nil {
		c.warnUses()
	}
}

// define enters all definitions; a later one replaces an earlier one of the same name. It returns the
// remaining ones, in order.
func (c *checker) define(defs []*def) []*def {
	for _, d := range defs {
		if old := c.defs[d.name.name]; old != nil && (old.kind != defImport || d.kind != defImport) {
			c.warn(StageRecom, d.name.off, "the earlier definition is at "+c.pos(old.name.off).String(),
				"%s is defined again; this definition replaces the earlier one", d.name.name)
		}
		c.defs[d.name.name] = d
	}
	var live []*def
	for _, d := range defs {
		if c.defs[d.name.name] != d {
			continue
		}
		live = append(live, d)
		seen := map[string]bool{}
		for _, q := range d.params {
			if q.name != "" && seen[q.name] && d.kind != defImport {
				c.fault(StageRecom, q.off, "", "parameter %s occurs twice", q.name)
			}
			seen[q.name] = true
		}
		params := make([]Param, len(d.params))
		for i, q := range d.params {
			params[i] = Param{q.kind, q.name}
		}
		if d.kind == defSub {
			d.sub = &Sub{Name: d.name.name, Params: params, Pos: c.pos(d.name.off)}
			c.prog.Subs = append(c.prog.Subs, d.sub)
			c.declareSub(d)
			continue
		}
		d.routine = &Routine{ID: -1, Name: d.name.name, CName: d.cname, Params: params, Pos: c.pos(d.name.off)}
		if d.kind == defCPP {
			d.routine.Body = &c.blocks[d.foreign]
		}
	}
	return live
}

// code returns the code fragment of a statement that runs a routine, a sub's body or call, or of is its own.
func (c *checker) code(kind CodeKind, of any, name string, pos Pos) int {
	k := codeKey{kind, of}
	id, ok := c.codes[k]
	if !ok {
		id = len(c.prog.Codes)
		c.codes[k] = id
		c.prog.Codes = append(c.prog.Codes, Code{ID: id, Name: name, Kind: kind, Pos: pos})
	}
	return id
}

func (c *checker) newBlock(parent *Block, sub *Sub, owner *Stmt) *Block {
	b := &Block{ID: len(c.prog.Blocks), Sub: sub, Owner: owner}
	c.prog.Blocks = append(c.prog.Blocks, b)
	c.parents = append(c.parents, parent)
	return b
}

func (c *checker) newStmt(kind CodeKind, off, line int32, text string, b *Block) *Stmt {
	st := &Stmt{ID: len(c.prog.Stmts), Kind: kind, Pos: c.pos(off), Text: text, Line: int(line), Block: b}
	c.prog.Stmts = append(c.prog.Stmts, st)
	return st
}

// declareSub declares the parameters of a sub, including hidden ones, so that calls can be checked before the
// body.
func (c *checker) declareSub(d *def) {
	s := d.sub
	var params []string
	for _, q := range d.params {
		params = append(params, q.kind.String()+" "+q.name)
	}
	s.Start = c.newStmt(SubBody, d.off, d.line, "sub "+s.Name+"("+strings.Join(params, ", ")+")", nil)
	s.Start.Sub = s
	s.Start.Code = c.code(SubBody, s, s.Name, s.Pos)
	s.Body = c.newBlock(nil, s, s.Start)
	s.Start.Body = s.Body
	s.Body.Frame = true
	for i, q := range d.params {
		kind := [...]symKind{symInt, symReal, symString, symParam, symParam}[q.kind]
		d.syms = append(d.syms, c.newSymbol(kind, q.nameAt, s.Body, i))
		s.Body.Values = append(s.Body.Values, q.name)
	}
	for _, r := range d.body.rules {
		if r.name != "nfparam" || r.form != ruleEnum {
			continue
		}
		for _, id := range r.ids {
			d.syms = append(d.syms, c.newSymbol(symNF, nameAt{id.name, id.off}, s.Body, len(s.Body.Values)))
			s.Body.Values = append(s.Body.Values, id.name)
			s.NFParams = append(s.NFParams, id.name)
		}
	}
}

func (c *checker) sub(d *def) {
	b := d.sub.Body
	sc := c.newScope(nil, b)
	for _, s := range d.syms {
		if old := sc.syms[s.name]; old != nil {
			if s.kind == symNF {
				c.fault(StageRecom, s.off, "", "nfparam %s has the name of a parameter", s.name)
			}
			continue
		}
		sc.syms[s.name] = s
	}
	d.sub.rules = c.blank(d.body.open, d.body.end)
	env := c.rules(d.body.rules, 's', nil)
	c.block(d.body, sc, env, b)
	c.finish()
	c.warnRules(env)
}

// finish gives the names of a sub their slots and all references in it their depths.
func (c *checker) finish() {
	used := slices.DeleteFunc(c.names, func(s *symbol) bool { return !s.used })
	slices.SortStableFunc(used, func(a, b *symbol) int {
		return cmp.Or(cmp.Compare(a.block.ID, b.block.ID), cmp.Compare(a.off, b.off))
	})
	for _, s := range used {
		s.slot = len(s.block.Names)
		s.block.Frame = true
		s.block.Names = append(s.block.Names, DeclID(len(c.prog.Decls)))
		c.prog.Decls = append(c.prog.Decls, Decl{Name: s.name, Block: s.block, Label: s.kind == symLabel,
			Pos: c.pos(s.off)})
	}
	for _, f := range c.fixes {
		depth := 0
		for b := f.from; b != f.sym.block; b = c.parents[b.ID] {
			if b.Frame {
				depth++
			}
		}
		*f.depth, *f.slot = depth, f.sym.slot
	}
	c.names, c.fixes = nil, nil
}

// main finds the entry. "C++ sub main()" gets a sub around it.
func (c *checker) main() {
	d := c.defs["main"]
	if d == nil {
		c.fault(StageCPP, 0, c.didYouMean("main", maps.Keys(c.defs)), "the program has no sub main")
		return
	}
	switch d.kind {
	case defImport:
		c.fault(StageCPP, d.name.off, "write sub main() { ... } that calls it",
			"an imported routine cannot be main")
	case defCPP:
		if len(d.params) > 0 {
			c.fault(StageCPP, d.name.off, "write sub main(...) that calls it", "C++ sub main cannot have parameters")
			return
		}
		body := &block{off: d.off, stmts: []*stmt{{kind: sCall, off: d.off, line: d.line, name: "main",
			nameOff: d.off}}}
		w := &def{off: d.off, line: d.line, name: d.name, body: body,
			sub: &Sub{Name: "main", Pos: c.pos(d.name.off)}}
		c.prog.Subs = append(c.prog.Subs, w.sub)
		c.declareSub(w)
		c.sub(w)
		c.prog.Main = w.sub
	case defSub:
		for _, q := range d.params {
			if q.kind == NameParam || q.kind == ValueParam {
				c.fault(StageCPP, q.off, "int, real and string parameters receive the words of the command line",
					"sub main cannot have a name or value parameter")
			}
		}
		c.prog.Main = d.sub
	}
}
