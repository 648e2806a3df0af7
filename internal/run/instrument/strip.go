package instrument

import "bytes"

// What is inserted is marked, so that it can be taken out again byte for byte:
//
//	/*whyslow*/ EMIT_EVENT(...);
//	/*whyslow*/ {
//	/*whyslow*/ }
//
// and one space, before or after. Whether it is the one or the other need not be known: where there are
// spaces on both sides, taking out either gives the same text.

func marked(s string) string { return markText + " " + s }

// cut is a place of the stripped text, and how much of the given text before it is missing.
type cut struct{ at, shift int }

// strip takes insertions out of a source.
func strip(given []byte) (out []byte, cuts []cut, err *problem) {
	if !bytes.Contains(given, []byte(markText)) {
		return given, nil, nil
	}
	toks := lex(given, 0, len(given))
	from := 0
	for i := 0; i < len(toks); i++ {
		if toks[i].kind != mark {
			continue
		}
		last := insertedEnd(toks, i+1)
		if last < 0 {
			return nil, nil, &problem{toks[i].start, "what follows the mark " + markText +
				" is not what whyslow inserts; remove both"}
		}
		start, end := toks[i].start, toks[last].end
		out = append(out, given[from:start]...)
		switch {
		case end < len(given) && given[end] == ' ':
			end++
		case len(out) > 0 && out[len(out)-1] == ' ':
			out = out[:len(out)-1]
		}
		from = end
		cuts = append(cuts, cut{len(out), end - len(out)})
		i = last
	}
	if cuts == nil {
		return given, nil, nil
	}
	return append(out, given[from:]...), cuts, nil
}

// insertedEnd returns the last token of what is inserted with a mark before token i, or -1.
func insertedEnd(toks []token, i int) int {
	if i >= len(toks) {
		return -1
	}
	if toks[i].is("{") || toks[i].is("}") {
		return i
	}
	if !toks[i].is("EMIT_EVENT") || i+1 >= len(toks) || !toks[i+1].is("(") {
		return -1
	}
	depth := 0
	for i++; i < len(toks); i++ {
		switch t := toks[i]; {
		case t.kind == mark, t.kind == directive, t.kind == bad:
			return -1
		case t.kind != punct:
		case t.spelling == "(" || t.spelling == "[" || t.spelling == "{":
			depth++
		case t.spelling == ")" || t.spelling == "]" || t.spelling == "}":
			if depth--; depth == 0 {
				if i++; i < len(toks) && toks[i].is(";") {
					return i
				}
				return -1
			}
		}
	}
	return -1
}
