package luna

import "github.com/whyslow/whyslow/trace"

// Stuck is what is left of a program that cannot finish, as an engine knows it. Package lifecycle explains it.
//
// A key names a DF as the program tells DFs apart: the number of the declared name at run time, then the indices as
// far as they are known, "17[3][4]".
type Stuck struct {
	Program *Program
	CFs     []PendingCF // in order of creation
	Names   map[DeclID]NameUses
}

// PendingCF is a CF that can never run (or, Executed, whose superfluous request is never answered).
type PendingCF struct {
	ID       trace.CF
	Node     int
	Stmt     *Stmt
	Executed bool
	Awaits   []AwaitedDF
	// Makes are the keys of what it would make, itself or through CFs that it would create. One with fewer indices than
	// the DF has stands for all DFs that begin so.
	Makes []string
}

// AwaitedDF is a DF that a pending CF waits for.
type AwaitedDF struct {
	Ref  string  // as written at the CF: row[k]
	Text string  // the same in canonical form: delta[(i)+(1)]
	Full string  // by the name it was declared with: grid[7][3]
	ID   []int64 // identity
	Key  string
	Decl DeclID
}

// NameUses is what the program does to DFs of one declared name, whatever the indices: under that name or as a
// parameter.
type NameUses struct {
	Makers, Deleters []*Stmt
	Counted          bool // some maker limits the requests served (req_count)
}
