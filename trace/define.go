package trace

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
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
	DFs       Name
	Stealable bool // nodes with nothing to do may take its CFs
}

// Tags of the definitions in a definition block. DFs, the bulk of them, have columns instead (dfs.go).
const (
	tagString = 1 + iota
	tagCode
	tagSite
	tagKind
	tagDF // in no row
)

// definer collects definitions until the writer takes them.
type definer struct {
	mu       sync.Mutex
	names    map[string]Name
	userKind map[[2]string]Kind
	specs    map[Kind]KindSpec // of user kinds
	next     Name
	full     []pending // portions that are large enough, in order
	spare    []pending // memory of portions that were written; to grow anew costs a third of a short CF's time
	pending
}

// pending are definitions not yet written.
type pending struct {
	rows  []byte // tag, length, content of each
	nrows int
	dfs   []uint64 // number, name, length, identity of each
	ndfs  int
}

// Definitions are written in portions, so that a reader needs little memory for one.
const (
	maxRows     = 1 << 18 // bytes, from which a portion is closed
	maxDFWords  = 1 << 15 // the same for DFs
	maxSpare    = 8       // portions
	maxIdentity = 1 << 10 // elements of a list
)

func (d *definer) init() {
	d.names = map[string]Name{"": 0}
	d.userKind = map[[2]string]Kind{}
	d.specs = map[Kind]KindSpec{}
	d.next = 1
}

// taken returns the next portion of definitions, nil if there are none. written is the one before, nil for
// the first.
func (d *definer) taken(written *pending) *pending {
	d.mu.Lock()
	defer d.mu.Unlock()
	if written != nil && len(d.spare) < maxSpare {
		d.spare = append(d.spare, pending{rows: written.rows[:0], dfs: written.dfs[:0]})
	}
	if len(d.full) == 0 {
		if d.nrows == 0 && d.ndfs == 0 {
			return nil
		}
		d.finish()
	}
	p := d.full[0]
	d.full = d.full[1:]
	return &p
}

// closed puts the current portion behind the full ones once it is large enough; the lock is held.
func (d *definer) closed() {
	if len(d.rows) >= maxRows || len(d.dfs) >= maxDFWords {
		d.finish()
	}
}

func (d *definer) finish() {
	d.full, d.pending = append(d.full, d.pending), pending{}
	if n := len(d.spare); n > 0 {
		d.pending, d.spare = d.spare[n-1], d.spare[:n-1]
	}
}

// row appends a definition; the lock is held.
func (d *definer) row(tag byte, body []byte) {
	d.rows = binary.AppendUvarint(append(d.rows, tag), uint64(len(body)))
	d.rows = append(d.rows, body...)
	d.nrows++
	d.closed()
}

func (d *definer) define(tag byte, words ...uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.row(tag, appendUvarints(nil, words...))
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

// maxString is the longest string that is kept whole, in bytes.
const maxString = 1 << 16

// shortName keeps the beginning of a string that is too long, and ends it with a hash of the whole: strings
// that differ stay different.
func shortName(s string) string {
	if len(s) <= maxString {
		return s
	}
	bytes := make([]int64, len(s))
	for i := range len(s) {
		bytes[i] = int64(s[i])
	}
	tail := fmt.Sprintf(" #%016x", IdentityID(bytes))
	return s[:maxString-len(tail)] + tail
}

// Name returns the number of a string, defining it at its first use. Strings over 64 KiB are cut and end with
// a hash of the whole.
func (w *Writer) Name(s string) Name {
	s = shortName(s)
	d := &w.defs
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.names[s]
	if !ok {
		n = d.next
		d.next++
		d.names[s] = n
		d.row(tagString, append(binary.AppendUvarint(nil, uint64(n)), s...))
	}
	return n
}

// DefineName gives a string a number of the caller's choice, instead of Name, which does not know it.
func (w *Writer) DefineName(n Name, s string) {
	w.defs.mu.Lock()
	defer w.defs.mu.Unlock()
	w.defs.row(tagString, append(binary.AppendUvarint(nil, uint64(n)), s...))
}

// DefineCode defines a code fragment. A number defined again takes the new meaning, here and in the other
// Define methods.
func (w *Writer) DefineCode(c CodeDef) {
	w.defs.define(tagCode, uint64(c.Code), uint64(c.Name), uint64(c.Kind), uint64(c.File),
		uint64(max(c.Line, 0)), uint64(max(c.Col, 0)))
}

// DefineSite defines a statement.
func (w *Writer) DefineSite(s SiteDef) {
	words := []uint64{uint64(s.Site), uint64(s.Code), uint64(s.Label), uint64(s.File), uint64(max(s.Line, 0)),
		uint64(max(s.Col, 0)), uint64(s.Text)}
	if s.DFs != 0 || s.Stealable {
		words = append(words, uint64(s.DFs))
	}
	if s.Stealable {
		words = append(words, 1)
	}
	w.defs.define(tagSite, words...)
}

// shortIdentity keeps the first 1022 elements of a list of over 1024; then come IdentityID of the whole list
// and its length. So DFs that differ anywhere stay different.
func shortIdentity(identity []int64) []int64 {
	if len(identity) <= maxIdentity {
		return identity
	}
	const kept = maxIdentity - 2
	return append(identity[:kept:kept], int64(IdentityID(identity)), int64(len(identity)))
}

// DefineDF gives a DF its name and identity list (creating node and number of its name, then the indices),
// which is copied. If a list has over 1024 elements, the last two are the hash and the length of the whole.
func (w *Writer) DefineDF(df DF, name Name, identity []int64) {
	identity = shortIdentity(identity)
	d := &w.defs
	d.mu.Lock()
	d.dfs = append(d.dfs, uint64(df), uint64(name), uint64(len(identity)))
	for _, v := range identity {
		d.dfs = append(d.dfs, uint64(v))
	}
	d.ndfs++
	d.closed()
	d.mu.Unlock()
}

// DefineKind declares an event of a user namespace and returns its number in this file: spec.Kind, or the
// next one if that is 0. The same namespace, name and field types may be declared again; with other types it
// is an error.
func (w *Writer) DefineKind(spec KindSpec) (Kind, error) {
	if err := spec.Check(); err != nil {
		return 0, err
	}
	d := &w.defs
	d.mu.Lock()
	defer d.mu.Unlock()
	key := [2]string{spec.Namespace, spec.Name}
	if k, ok := d.userKind[key]; ok {
		old := d.specs[k]
		if !old.hasTypes(spec.types()) || spec.Kind != 0 && spec.Kind != k {
			return 0, fmt.Errorf("event %s is declared as %s and as %s", &old, old.Signature(), spec.Signature())
		}
		return k, nil
	}
	k := spec.Kind
	if k == 0 {
		for k = FirstUserKind; d.specs[k].Kind != 0; k++ {
		}
	}
	if k > MaxKind {
		return 0, fmt.Errorf("event %s: a file cannot have more than %d user kinds", &spec, MaxKind-FirstUserKind+1)
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
	var fields []string
	for _, f := range s.Fields {
		fields = append(fields, f.Name+" "+f.Type.String())
	}
	return "(" + strings.Join(fields, ", ") + ")"
}

// types are the types of the fields, as blocks hold them.
func (s *KindSpec) types() (types []byte) {
	for _, f := range s.Fields {
		types = append(types, byte(f.Type))
	}
	return types
}

func (s *KindSpec) hasTypes(types []byte) bool { return string(s.types()) == string(types) }

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
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 256
}
