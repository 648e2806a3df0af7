// Package luna turns a LuNA program into a Program that an engine can execute.
//
// The way of a program: Preprocess (comments, macros, includes, foreign blocks) -> lexer -> parser (tree as
// written) -> let substitution -> checker, which resolves every name, gives every expression its type, and
// lowers each statement to the few things an engine needs to know: where it runs, which data fragments it
// asks for in which order, what it computes, and what happens afterwards. After that no name is looked up
// any more.
//
// # Frames
//
// At run time every entry of a block makes a frame: the parent frame, the values of the block (parameters,
// counter) and the identities of the names it declares. A reference is a pair (Depth, Slot): Depth frames up
// from the current one, then the slot. A block with neither values nor names has no frame of its own
// (Block.Frame is false) and is not counted in Depth.
package luna

// Type is the static type of an expression, and the kind of value that a slot holds.
type Type uint8

// Types of expressions. Dyn is known at run time only: the value of a data fragment.
const (
	Int    Type = iota // 32-bit integer, wraps
	Real               // IEEE double
	String             // bytes without NUL
	Dyn                // any of these, or a byte block
	// 64-bit integer: of literals beyond 32 bits, and of what is computed with them. Only expressions have it
	Long
)

// ParamKind is the declared kind of a parameter.
type ParamKind uint8

// Kinds of parameters. ValueParam occurs in imports and C++ subs only.
const (
	IntParam ParamKind = iota
	RealParam
	StringParam
	NameParam  // output of a C++ routine; reference to a DF or a slice of one for a sub
	ValueParam // input DF of a C++ routine
)

var paramKinds = []string{"int", "real", "string", "name", "value"}

func (k ParamKind) String() string { return paramKinds[k] }

// Pos is a position in a source file. Line and Col count from 1; Col counts characters.
type Pos struct {
	File string
	Line int
	Col  int
}

// Program is a checked program, ready to run.
type Program struct {
	File     string     // as given
	Main     *Sub       // entry
	Subs     []*Sub     // reachable or not, in order of definition
	Routines []*Routine // C++ routines that some statement calls
	Codes    []Code     // indexed by Code.ID
	Stmts    []*Stmt    // indexed by Stmt.ID: every statement of every sub, plus one BodyStmt per sub
	Decls    []Decl     // indexed by DeclID
	Blocks   []*Block   // indexed by Block.ID
	Heads    []Foreign  // C++ head blocks, in order
	Text     string     // preprocessed text
	Origin   []Pos      // position of each rune of Text (len = runes of Text + 1)
	Warnings []Diag
}

// CodeKind tells what kind of code fragment a CF runs.
type CodeKind uint8

// Kinds of code fragments. All but Atomic are structured.
const (
	Atomic  CodeKind = iota // a C++ routine
	SubBody                 // the body of a sub: creates the body's CFs
	SubCall                 // evaluates the arguments, creates one SubBody CF
	ForLoop
	WhileLoop
	IfCond
)

// Code is a code fragment. Name is what reports show: the LuNA name of the routine or sub; "for i", "while
// i" (with the counter's name), "if" for the others.
type Code struct {
	ID   int
	Name string
	Kind CodeKind
	Pos  Pos // where it is defined; for loops and conditions the statement
}

// Sub is a LuNA subroutine.
type Sub struct {
	Name   string
	Params []Param
	// NFParams are the hidden int parameters; their frame slots follow those of Params.
	NFParams []string
	rules    blank  // where rules can be added
	Body     *Block // always has a frame; its Values are Params then NFParams
	Start    *Stmt  // Kind SubBody, Sub == this: the CF that creates the body's CFs
	Pos      Pos
}

// Param is a parameter of a sub or a routine.
type Param struct {
	Kind ParamKind
	Name string
}

// Routine is a C++ code fragment.
type Routine struct {
	ID     int    // index in Program.Routines
	Name   string // LuNA name
	CName  string // C name; for embedded subs chosen by the C++ side
	Params []Param
	Body   *Foreign // not nil for an embedded "C++ sub"
	Pos    Pos
}

// Foreign is a C++ block embedded in the program. Pos is the position of its first character.
type Foreign struct {
	Index int    // N of __block(N)
	Text  string // handed to C++ as it is; for the ${{ form with braces around it
	Pos   Pos    // position of Text[0] (of the character after the added brace for the ${{ form)
	// Before is what stands before Pos on its line: the ${{ form is the one that ends with it
	Before string
}

// DeclID indexes Program.Decls.
type DeclID int32

// Decl is the declaration of a DF name or label in a block. Names that no statement uses have none.
type Decl struct {
	Name  string
	Block *Block
	Label bool // declared by "cf NAME:" only
	Pos   Pos
}

// Block is the body of a sub, loop or condition.
type Block struct {
	ID     int
	Frame  bool     // entry makes a frame
	Values []string // names of value slots: parameters (also name parameters), nfparams, or the counter
	Names  []DeclID // declared names that are used; slot i gets the i-th identity of the frame
	Stmts  []*Stmt  // created in this order on entry
	Sub    *Sub     // the sub it stands in
	Owner  *Stmt    // For, While, If or SubBody statement whose body it is
}

// Stmt is a statement: a CF is one execution of it. The frame in which its expressions are evaluated is the
// one of the block it stands in, unless said otherwise (While).
//
// Life of a CF: fetch Home.Waves, move to Home's node if another, fetch Waves, execute by Kind, apply
// Effects in order.
type Stmt struct {
	ID    int
	Kind  CodeKind
	Code  int // index in Program.Codes
	Pos   Pos
	Text  string // one line, for messages: "mult(A[i][k], B[k][j], C[i][j])", "for i = 0 .. n - 1"
	Line  int    // line in the preprocessed text (the automatic label is _l<Line>)
	Block *Block // the block it stands in; nil for the SubBody statement of a sub

	// Label is the CF's label: LabelDecl < 0 and LabelName "" if it has none.
	LabelName string
	Label     *NameRef // nil without label
	LabelIdx  []*Expr

	Home  Home
	rules blank // where its locator is, or can be added
	// inputs to request together, wave by wave: indices into Inputs. Pushed inputs stand in a wave, too; those
	// of Home.Waves and StartWaves do not
	Waves     [][]int
	Inputs    []*Input // all inputs, those of Home.Waves first, then those of StartWaves
	Stealable bool
	Weight    *Expr // nil: 1. Real

	// Atomic and SubCall.
	Routine *Routine // Atomic
	Sub     *Sub     // SubCall: the sub called; SubBody: the sub itself
	Args    []Arg
	NFArgs  []*Expr // SubCall: by Sub.NFParams; nil entry: missing at this call (an error when used)

	// Outs are what the CF initialises, in order: name arguments, then ">>" tokens (value: the int 1); While:
	// the out DF. For all kinds but Atomic and While only tokens.
	Outs []*DFRef
	// NArgOuts is how many of Outs are name arguments (Atomic); the rest are tokens.
	NArgOuts int

	// For: Lo, Hi in the frame of Block. If: Cond. While: Start in the frame of Block, with StartWaves fetched
	// before; Cond, Outs, Waves, Home and Effects in the frame of an iteration, a frame of Body with the
	// counter in value slot 0 (its Names are not used by them). Body.Frame is always true for While.
	Lo, Hi, Cond, Start *Expr
	StartWaves          [][]int // into Inputs
	Body                *Block

	// Effects are applied in this order after execution (for, if, sub call: after the children were created;
	// while: when the condition has failed).
	Effects []Effect
	Lost    []*Lost
}

// Home tells on which node a CF runs.
type Home struct {
	// Expr is an int; the node is Expr modulo the number of nodes, never negative. nil: node 0 (for a SubBody:
	// the node where it was created).
	Expr *Expr
	// Replicating is set by "locator_replicating label => all" for a labelled call: the CF stays where it was
	// created if it can be stolen.
	Replicating bool
	Waves       [][]int // into Stmt.Inputs: fetched on the node where the CF was created
}

// NameRef is a resolved DF name: a declared name (slot of Block.Names) or a name parameter (slot of
// Block.Values).
type NameRef struct {
	Depth int
	Slot  int
	Param bool
	Name  string // as written here
}

// DFRef is a reference to a DF: a name and indices, and where it is stored.
type DFRef struct {
	Name *NameRef
	Idx  []*Expr // ints
	Loc  Loc
	// Places are the rules by which statements of the other kind, those that make these DFs or those that read
	// them, place them, if they are not all its own; a nil rule is the default.
	Places map[*LocRule]bool
	Text   string // canonical print of the reference, e.g. delta[(i)+(1)]; equal texts are one request
	Src    string // as a person would write it: delta[i + 1]
	Pos    Pos
	off    int32 // Pos in the preprocessed text
}

// LocKind tells how a DF is placed.
type LocKind uint8

// Placements. LocZero is the default: node 0.
const (
	LocZero LocKind = iota
	LocCyclic
	LocReplicating // Expr k >= 1: on nodes 0, k, 2k, ...
	LocReplicatingAll
)

// Loc is the placement of a reference. In Expr, OpIndex k is the k-th evaluated index of the reference. Rule
// is the locator map that says so, nil for the default.
type Loc struct {
	Kind LocKind
	Expr *Expr
	Rule *LocRule
}

// Input is a DF that a CF asks for or is pushed.
type Input struct {
	Ref  *DFRef
	Push bool // from a "wait" rule: obtained by push, not by request
	// Control is true where the DF is needed for control (bounds, conditions, indices, locators) and not passed
	// to user code.
	Control bool
}

// Arg is an argument of a call.
type Arg struct {
	Kind ParamKind
	// Int, Real, String, Value parameters. Its Type is Int, Real, String as the parameter's; Value: any
	Expr *Expr
	Out  int // NameParam of a routine: index into Stmt.Outs
	Name *NameRef
	Idx  []*Expr // NameParam of a sub: the cell or slice passed
}

// EffectKind tells what happens after execution.
type EffectKind uint8

// Effects.
const (
	Post    EffectKind = iota // store Ref with Count
	Destroy                   // destroy Ref
	Push                      // send Ref to the CF with label To
)

// Effect is one thing done after the execution of a CF.
type Effect struct {
	Kind EffectKind
	Ref  *DFRef
	// Out is the index in Stmt.Outs of the value posted or pushed if the texts are equal, else -1: then the
	// CF's outputs and inputs are searched for the identity.
	Out   int
	Count *Expr // Post: int, how many requests it serves; nil: unlimited. Negative: unlimited
	To    *NameRef
	ToIdx []*Expr
	ToLoc Home // node of the labelled CF; Waves empty
	Pos   Pos
}

// Op is the operation of an expression node.
type Op uint8

// Operations. Operands are A, B, C. Arithmetic and comparison with Type or operand types Int and Real are
// the machine's; where both operands are Dyn the run-time types decide (see Dyn* rule in Expr.Type).
const (
	OpInt    Op = iota // constant I
	OpReal             // constant F (already rounded to 6 decimals)
	OpString           // constant S (already unescaped)
	OpValue            // value slot (Depth, Slot) of type Type
	// value of Stmt.Inputs[K]; Type Int or Real: must hold exactly that, else the program fails; Dyn: as it is;
	// String: must be a string
	OpInput
	OpOutput // value of Stmt.Outs[K] after execution, read as OpInput
	OpIndex  // K-th index of the reference being placed (in Loc only); Int
	OpNeg
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	OpLT
	OpLE
	OpGT
	OpGE
	OpEQ
	OpNE
	OpAnd    // lazy; Int operands
	OpOr     // lazy
	OpCond   // A ? B : C, lazy
	OpToInt  // A converted as a C++ cast (A Int, Long, Real; Dyn: must hold an int)
	OpToReal // (A Int, Long, Real; Dyn: must hold a real)
	// to string context: Int and Long decimal, Real %f, String itself, Dyn by its run-time type; a byte block
	// fails
	OpToStr
	OpConcat // strings
	OpUnset  // fails when evaluated; S says why
)

// Expr is a typed, resolved expression.
//
// Type is the representation of the result. An arithmetic node of Type Int (Real) has operands of Type Int
// (Real), the checker has put conversions in. A node of Type Dyn has Dyn operands: int with int gives int,
// with a real among them real; other run-time types fail with "Unsupported operand types: A op B". A Dyn
// operand, and a value argument, may be an expression of any Type: its value counts. Comparisons have Type
// Int and operands of one Type, or Int and Long; Dyn as above. == and != compare strings where both operands
// have Type String. Nodes of Type Long have operands of Type Int or Long; a value argument of Type Long is
// an int.
type Expr struct {
	Op      Op
	Type    Type
	A, B, C *Expr
	I       int64 // OpInt: the constant, within 32 bits unless Type is Long
	F       float64
	S       string
	K       int
	Depth   int
	Slot    int
	Pos     Pos
}

// Stage is the part of the compiler that found a fault. The names are LuNA's own; scripts match them.
type Stage string

// Stages of compilation.
const (
	StagePreprocess Stage = "preprocessing"
	StageParse      Stage = "parse"
	StageLet        Stage = "compilation"
	// unknown names in value positions, calls, duplicates, nfparam, locator indices
	StageRecom Stage = "recom-generation"
	// something that is not a DF used as one, types, string operators, no main
	StageCPP Stage = "cpp-generation"
)

// Diag is one message about a program.
type Diag struct {
	Stage Stage
	Warn  bool
	Pos   Pos    // File "" where there is no position
	Msg   string // one line, no position in it
	Hint  string // what to do, may be empty
	Line  string // the source line, tabs kept; "" if there is none
	// just after the offending token where LuNA reports that place (syntax errors); else the zero Pos
	After Pos
}

// Error is a failed compilation: at least one Diag with Warn false, in order of position.
type Error struct{ Diags []Diag }
