package trace

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
)

// CodeDef defines a code fragment.
type CodeDef struct {
	Code uint32 // its number, from 1
	Name Name
	Kind CodeKind
	File Name // where it is in the source; 0: unknown
	Line int  // from 1; 0: unknown
	Col  int  // from 1; 0: unknown
}

// SiteDef defines a statement of the program.
type SiteDef struct {
	Site  Site
	Code  uint32 // the code fragment it runs; 0: none
	Label Name   // name of the CF's label; 0: none
	File  Name
	Line  int
	Col   int
	Text  Name // the statement as written
	// DFs tells which DFs its CFs read and make, "sum[i], part[i] -> sum[i + 1]"; 0: not known. See
	// docs/trace-format.md.
	DFs Name
}

// Tags of the definitions in a definition block. DFs, the bulk of them, have columns
// instead (dfs.go).
const (
	tagString = 1 + iota
	tagCode
	tagSite
	tagKind
)

// definer collects definitions until the writer takes them.
type definer struct {
	mu       sync.Mutex
	names    map[string]Name
	userKind map[[2]string]Kind
	specs    map[Kind]KindSpec // of user kinds
	next     Name
	reserved map[Name]bool // numbers that must not be given to strings
	full     []pending     // portions that are large enough, in order
	spare    []pending     // empty, for their memory
	pending
}

// pending are definitions not yet written.
type pending struct {
	rows  []byte // tag, length, content of each
	nrows int
	dfs   []int64 // number, name, length, identity of each
	ndfs  int
}

// Definitions are written in portions, so that a reader needs little memory for one.
const (
	maxRows     = 1 << 18 // bytes, from which a portion is closed
	maxDFWords  = 1 << 15 // the same for DFs
	maxSpare    = 8
	maxIdentity = 1 << 10
)

func (d *definer) init() {
	d.names = map[string]Name{"": 0}
	d.userKind = map[[2]string]Kind{}
	d.specs = map[Kind]KindSpec{}
	d.next = 1
}

// taken returns the next portion of definitions, nil if there are none.
func (d *definer) taken() *pending {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.full) > 0 {
		p := d.full[0]
		d.full = d.full[1:]
		return &p
	}
	if d.nrows == 0 && d.ndfs == 0 {
		return nil
	}
	p := d.pending
	d.pending = d.empty()
	return &p
}

// closed puts the current portion behind the full ones once it is large enough; the lock is held.
func (d *definer) closed() {
	if len(d.rows) >= maxRows || len(d.dfs) >= maxDFWords {
		d.full = append(d.full, d.pending)
		d.pending = d.empty()
	}
}

// empty is a portion without definitions, in memory that was used before if there is some.
func (d *definer) empty() pending {
	if n := len(d.spare); n > 0 {
		p := d.spare[n-1]
		d.spare = d.spare[:n-1]
		return p
	}
	return pending{}
}

// recycle takes back the memory of definitions that are written.
func (d *definer) recycle(p *pending) {
	d.mu.Lock()
	if len(d.spare) < maxSpare {
		d.spare = append(d.spare, pending{rows: p.rows[:0], dfs: p.dfs[:0]})
	}
	d.mu.Unlock()
}

// row appends a definition; body may be called with the lock held only.
func (d *definer) row(tag byte, body []byte) {
	d.rows = append(d.rows, tag)
	d.rows = binary.AppendUvarint(d.rows, uint64(len(body)))
	d.rows = append(d.rows, body...)
	d.nrows++
	d.closed()
}

func appendUvarints(b []byte, vals ...uint64) []byte {
	for _, v := range vals {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// maxString is the longest string that is kept whole.
const maxString = 1 << 16

// Name returns the number of a string, defining it at its first use. Strings over
// 64 KiB are cut.
func (w *Writer) Name(s string) Name {
	if len(s) > maxString {
		s = s[:maxString]
	}
	d := &w.defs
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.names[s]
	if !ok {
		for d.reserved[d.next] {
			d.next++
		}
		n = d.next
		d.next++
		d.names[s] = n
		d.row(tagString, append(binary.AppendUvarint(nil, uint64(n)), s...))
	}
	return n
}

// nameAs gives a string a certain number and reports whether that was free.
func (w *Writer) nameAs(n Name, s string) bool {
	d := &w.defs
	d.mu.Lock()
	defer d.mu.Unlock()
	old, known := d.names[s]
	switch {
	case known && old == n:
		return true
	case n == 0, n < d.next && !d.reserved[n]:
		return false
	}
	d.reserved[n] = true
	if !known {
		d.names[s] = n
	}
	d.row(tagString, append(binary.AppendUvarint(nil, uint64(n)), s...))
	return true
}

// DefineCode defines a code fragment. A number defined again takes the new meaning,
// here and in the other Define methods.
func (w *Writer) DefineCode(c CodeDef) {
	b := appendUvarints(nil, uint64(c.Code), uint64(c.Name), uint64(c.Kind), uint64(c.File),
		uint64(max(c.Line, 0)), uint64(max(c.Col, 0)))
	w.defs.mu.Lock()
	w.defs.row(tagCode, b)
	w.defs.mu.Unlock()
}

// DefineSite defines a statement.
func (w *Writer) DefineSite(s SiteDef) {
	b := appendUvarints(nil, uint64(s.Site), uint64(s.Code), uint64(s.Label), uint64(s.File),
		uint64(max(s.Line, 0)),
		uint64(max(s.Col, 0)), uint64(s.Text))
	if s.DFs != 0 {
		b = binary.AppendUvarint(b, uint64(s.DFs))
	}
	w.defs.mu.Lock()
	w.defs.row(tagSite, b)
	w.defs.mu.Unlock()
}

// DefineDF gives a DF its name and identity list (creating node and number of its
// name, then the indices), which is copied. Elements beyond 1024 are cut.
func (w *Writer) DefineDF(df DF, name Name, identity []int64) {
	if len(identity) > maxIdentity {
		identity = identity[:maxIdentity]
	}
	d := &w.defs
	d.mu.Lock()
	d.dfs = append(d.dfs, int64(df), int64(name), int64(len(identity)))
	d.dfs = append(d.dfs, identity...)
	d.ndfs++
	d.closed()
	d.mu.Unlock()
}

// DefineKind declares an event of a user namespace and returns its number in this
// file. The same namespace, name and field types may be declared again; with other
// types it is an error.
func (w *Writer) DefineKind(spec KindSpec) (Kind, error) {
	spec.Kind = 0
	return w.defineKind(spec)
}

// defineKind declares a user kind under the number in spec, or the next one for 0.
func (w *Writer) defineKind(spec KindSpec) (Kind, error) {
	if err := spec.Check(); err != nil {
		return 0, err
	}
	d := &w.defs
	d.mu.Lock()
	defer d.mu.Unlock()
	key := [2]string{spec.Namespace, spec.Name}
	if k, ok := d.userKind[key]; ok {
		old := d.specs[k]
		same := slices.EqualFunc(old.Fields, spec.Fields, func(a, b Field) bool { return a.Type == b.Type })
		if !same || spec.Kind != 0 && spec.Kind != k {
			return 0, fmt.Errorf("event %s is declared as %s and as %s", &old, old.Signature(),
				spec.Signature())
		}
		return k, nil
	}
	k := spec.Kind
	if k == 0 {
		for k = FirstUserKind; d.specs[k].Kind != 0; k++ {
		}
	}
	if k > MaxKind {
		return 0, fmt.Errorf("event %s: a file cannot have more than %d user kinds", &spec,
			MaxKind-FirstUserKind+1)
	}
	if old := d.specs[k]; old.Kind != 0 {
		return 0, fmt.Errorf("event %s has the number %d of %s", &spec, k, &old)
	}
	spec.Kind = k
	spec.Fields = slices.Clone(spec.Fields)
	d.specs[k] = spec
	d.userKind[key] = k
	d.row(tagKind, appendKind(nil, &spec))
	w.layouts[k].Store(newLayout(&spec))
	return k, nil
}

func appendKind(b []byte, spec *KindSpec) []byte {
	b = appendUvarints(b, uint64(spec.Kind))
	b = appendString(b, spec.Namespace)
	b = appendString(b, spec.Name)
	b = appendString(b, spec.Doc)
	b = appendUvarints(b, uint64(len(spec.Fields)))
	for _, f := range spec.Fields {
		b = append(b, byte(f.Type))
		b = appendString(b, f.Name)
	}
	return b
}

// Signature is "(cf CF, inputs DFs)".
func (s *KindSpec) Signature() string {
	text := "("
	for i, f := range s.Fields {
		if i > 0 {
			text += ", "
		}
		text += f.Name + " " + f.Type.String()
	}
	return text + ")"
}

// Check refuses, for an event of a user namespace, what the text twin could not write or a block could not
// hold.
func (s *KindSpec) Check() error {
	for _, n := range []string{s.Namespace, s.Name} {
		if !identifier(n) {
			return fmt.Errorf("event %q.%q: names are letters, digits and _, not starting with a digit",
				s.Namespace, s.Name)
		}
	}
	if k, ok := KindByName(s.Namespace, s.Name); ok {
		return fmt.Errorf("event %s is a standard one (kind %d)", s, k)
	}
	if len(s.Fields) > MaxFields {
		return fmt.Errorf("event %s has %d fields, at most %d are possible", s, len(s.Fields), MaxFields)
	}
	seen := map[string]bool{}
	for i, f := range s.Fields {
		switch {
		case !identifier(f.Name):
			return fmt.Errorf("event %s: field name %q: names are letters, digits and _, not starting with"+
				" a digit", s, f.Name)
		case seen[f.Name]:
			return fmt.Errorf("event %s: two fields are called %s", s, f.Name)
		case !f.Type.Valid():
			return fmt.Errorf("event %s: field %s has no valid type", s, f.Name)
		case f.Type.List() && i < len(s.Fields)-1:
			return fmt.Errorf("event %s: list %s is not the last field", s, f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

func identifier(s string) bool {
	for i := range len(s) {
		if !wordByte(s[i]) || i == 0 && digit(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || digit(c)
}
