package luna

import (
	"strconv"
	"strings"
)

type exprOp uint8

const (
	xInt exprOp = iota
	xReal
	xString
	xID
	xToInt
	xToReal
	xToString
	xNeg
	xBinary
	xCond
	xIndexVar // resolved trees only: index variable number i of a locator map; a is the actual index
	xBad      // resolved trees only: already reported
)

// expr is an expression as written, or resolved: then every xID has its symbol and let variables are gone.
type expr struct {
	op      exprOp
	off     int32  // where it is
	opOff   int32  // where the operator is
	name    string // xID; xBinary: the operator; literals: as written
	i       int64
	a, b, c *expr
	idx     []*expr
	sym     *symbol
	kind    kind // of resolved expressions: the static type
	text    bool // of resolved expressions: a string, or a combination with one
}

type ruleForm uint8

const (
	ruleAssign ruleForm = iota // NAME id = e;
	ruleMap                    // NAME id => e;
	ruleEnum                   // NAME id, id;
	ruleExpr                   // NAME: e;
	ruleFlags                  // NAME, NAME;
)

type rule struct {
	form ruleForm
	name string
	off  int32
	end  int32 // behind its semicolon
	ids  []*expr
	e    *expr
}

type stmtKind uint8

const (
	sCall stmtKind = iota
	sLet
	sFor
	sWhile
	sIf
)

type nameAt struct {
	name string
	off  int32
}

type letDef struct {
	nameAt
	e *expr
}

type stmt struct {
	kind    stmtKind
	off     int32
	line    int32
	label   *expr
	name    string // call: the routine or sub; for, while: the counter
	nameOff int32
	args    []*expr
	tokens  []*expr // >> ( )
	deletes []*expr // --> ( )
	both    bool    // has >> as well as -->
	rules   []*rule
	open    int32 // of a call: behind the brace that opens its rules; 0 where it has none
	end     int32 // of a call: its semicolon
	e1, e2  *expr // for: bounds; while: condition, start; if: condition
	out     *expr
	lets    []letDef
	body    *block
}

type block struct {
	off    int32
	braced bool
	df     []nameAt
	stmts  []*stmt
	rules  []*rule
	open   int32 // behind the brace that opens its rules; 0 where it has none
	end    int32 // behind its closing brace
}

type defKind uint8

const (
	defSub defKind = iota
	defCPP
	defImport
)

type paramDef struct {
	kind ParamKind
	nameAt
}

// def is a definition at file level.
type def struct {
	kind    defKind
	off     int32
	line    int32
	name    nameAt
	cname   string
	params  []paramDef
	body    *block // defSub
	foreign int    // defCPP: number of the block

	// Filled by the checker.
	sub     *Sub
	routine *Routine
	syms    []*symbol // parameters of a sub
}

// print writes e. Canonical text puts the operands of operators in parentheses, like LuNA; otherwise only
// where needed. With ids, names are followed by the number of their symbol, so that equal texts mean the
// same.
type printer struct {
	strings.Builder
	canonical, ids bool
}

func (p *printer) expr(e *expr, level int) {
	switch e.op {
	case xInt, xReal, xString:
		p.WriteString(strings.ReplaceAll(e.name, "\n", "\\n"))
	case xID:
		p.WriteString(e.name)
		if p.ids && e.sym != nil {
			p.WriteByte('#')
			p.WriteString(strconv.Itoa(e.sym.id))
		}
		for _, i := range e.idx {
			p.WriteByte('[')
			p.expr(i, 0)
			p.WriteByte(']')
		}
	case xToInt, xToReal, xToString:
		p.WriteString([]string{"int(", "real(", "string("}[e.op-xToInt])
		p.expr(e.a, 0)
		p.WriteByte(')')
	case xNeg:
		p.WriteByte('-')
		p.operand(e.a, 7)
	case xBinary:
		l := levels[e.name]
		p.group(level > l, func() {
			p.operand(e.a, l)
			if p.canonical {
				p.WriteString(e.name)
			} else {
				p.WriteString(" " + e.name + " ")
			}
			p.operand(e.b, l+1)
		})
	case xCond:
		p.group(level > 1, func() {
			p.operand(e.a, 1)
			p.WriteString(" ? ")
			p.operand(e.b, 0)
			p.WriteString(" : ")
			p.operand(e.c, 2)
		})
	case xIndexVar:
		p.expr(e.a, level)
	default:
		p.WriteByte('?')
	}
}

func (p *printer) operand(e *expr, level int) {
	if p.canonical {
		p.WriteByte('(')
		p.expr(e, 0)
		p.WriteByte(')')
	} else {
		p.expr(e, level)
	}
}

func (p *printer) group(parens bool, f func()) {
	if parens = parens && !p.canonical; parens {
		p.WriteByte('(')
	}
	f()
	if parens {
		p.WriteByte(')')
	}
}

// canonText is LuNA's text of a reference; keyText also tells equal names of different declarations apart;
// srcText is what a person would write.
func canonText(e *expr) string { p := printer{canonical: true}; p.expr(e, 0); return p.String() }
func keyText(e *expr) string {
	p := printer{canonical: true, ids: true}
	p.expr(e, 0)
	return p.String()
}
func srcText(e *expr) string { p := printer{}; p.expr(e, 0); return p.String() }

// text is a statement on one line, for messages.
func (s *stmt) text() string {
	switch s.kind {
	case sFor:
		return "for " + s.name + " = " + srcText(s.e1) + " .. " + srcText(s.e2)
	case sWhile:
		return "while " + srcText(s.e1) + ", " + s.name + " = " + srcText(s.e2) + " .. out " + srcText(s.out)
	case sIf:
		return "if " + srcText(s.e1)
	}
	list := make([]string, len(s.args))
	for i, a := range s.args {
		list[i] = srcText(a)
	}
	return s.name + "(" + strings.Join(list, ", ") + ")"
}
