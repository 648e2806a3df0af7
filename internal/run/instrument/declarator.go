package instrument

import "slices"

// declarator is a function's name and parameter list.
type declarator struct {
	name        []string
	start       int // first token of the name
	open, close int // the parentheses of the parameters
}

// operatorName returns the index of the parameter list of the operator at i (or the place after the word).
func (p *parser) operatorName(i int) int {
	j := i + 1
	switch {
	case p.is(j, "(") && p.is(j+1, ")"), p.is(j, "[") && p.is(j+1, "]"):
		return j + 2
	case p.is(j, "new"), p.is(j, "delete"):
		if j++; p.is(j, "[") && p.is(j+1, "]") {
			j += 2
		}
		return j
	}
	for j < len(p.toks) && !p.is(j, "(") && !p.is(j, ";") && !p.is(j, "{") && !p.is(j, "}") && !p.is(j, ")") {
		j++
	}
	return j
}

// declarator finds the function that the head [start, end) declares. A head may hold several pairs of
// parentheses (macros, attributes, exception specifications): the parameters are the first that have a name
// with something like a type before it and nothing strange after it.
func (p *parser) declarator(start, end int, in scope) (d declarator, ok bool) {
	var all []declarator
	begin := start // where a type would be
	plain := true  // only specifiers so far
scan:
	for k := start; k < end; {
		t := p.toks[k]
		if plain {
			begin = k
		}
		switch {
		case t.is("template") && p.is(k+1, "<"):
			j := p.angles(k + 1)
			if j == 0 || j > end {
				break scan
			}
			k = j
			continue
		case t.is("[") && p.is(k+1, "["):
			k = p.match[k] + 1
			continue
		case t.is("operator"):
			after := p.operatorName(k)
			j := p.attributes(after)
			if j >= end || !p.is(j, "(") {
				break scan
			}
			name := "operator"
			for _, t := range p.toks[k+1 : after] {
				if t.kind == word {
					name += " "
				}
				name += t.spelling
			}
			all = append(all, p.qualified(k, name, j))
			k = p.match[j] + 1
		case t.kind == word && withParens[t.spelling] && p.is(k+1, "("):
			k = p.match[k+1] + 1
			continue
		case t.is("->") && len(all) > 0, t.is("="), t.is(":"), t.is("requires") && len(all) > 0:
			break scan
		case t.is("<"):
			if j := p.angles(k); j > 0 && j <= end {
				k = j
			} else {
				k++
			}
		case t.is("("):
			name := k - 1
			for p.is(name, "]") && p.is(name-1, "]") { // f [[nodiscard]] (int x)
				name = p.match[name] - 1
			}
			if p.is(name, ">") {
				name = p.anglesBack(name) - 1
			}
			if name >= start && p.word(name) && !types[p.toks[name].spelling] && !withParens[p.toks[name].spelling] {
				all = append(all, p.qualified(name, p.toks[name].spelling, k))
			} else if len(all) == 0 && p.is(p.match[k]+1, "(") { // int (*f(int x))(double)
				for j := k + 1; j < p.match[k]; j++ {
					if p.word(j) && p.is(j+1, "(") && j > start {
						return p.qualified(j, p.toks[j].spelling, j+1), true
					}
				}
			}
			k = p.match[k] + 1
		case t.is("[") || t.is("{"):
			k = p.match[k] + 1
		case plain && (t.kind == word && specifiers[t.spelling] || t.kind == text):
			k++
			continue
		default:
			k++
		}
		plain = false
	}
	for _, c := range all {
		typed := c.start > begin || p.constructs(c, in)
		if fits, _ := p.trailer(c.close+1, end); fits && typed {
			return c, true
		}
	}
	for _, c := range slices.Backward(all) {
		if fits, strict := p.trailer(c.close+1, end); fits && strict {
			return c, true
		}
	}
	if len(all) > 0 {
		return all[len(all)-1], true
	}
	return d, false
}

// qualified makes the declarator whose name's last part is name, at token i, with parameters at open.
func (p *parser) qualified(i int, name string, open int) declarator {
	d := declarator{name: []string{name}, open: open, close: p.match[open]}
	if p.is(i-1, "~") {
		d.name[0] = "~" + name
		i--
	}
	for p.is(i-1, "::") {
		j := i - 2
		if p.is(j, ">") {
			j = p.anglesBack(j) - 1
		}
		if !p.word(j) || p.in(j, expressionWords) {
			i--
			break
		}
		d.name = append(d.name, p.toks[j].spelling)
		i = j
	}
	slices.Reverse(d.name)
	d.start = i
	return d
}

// constructs tells whether d is a constructor or destructor, which has no type before it.
func (p *parser) constructs(d declarator, in scope) bool {
	last := d.name[len(d.name)-1]
	if last[0] == '~' {
		return true
	}
	if len(d.name) > 1 {
		return d.name[len(d.name)-2] == last
	}
	return in.class && len(in.path) > 0 && in.path[len(in.path)-1] == last
}

// trailer tells whether [i, end) may stand between a parameter list and what follows; strict: without macros.
func (p *parser) trailer(i, end int) (fits, strict bool) {
	strict = true
	for i < end {
		switch {
		case p.is(i, "->") || p.is(i, "requires") || p.is(i, "=") || p.is(i, ","):
			return true, strict
		case p.is(i, "["):
			i = p.match[i] + 1
			continue
		case p.in(i, trailing), p.in(i, withParens):
		case p.word(i) && !p.word(i+1) || p.word(i) && p.in(i+1, trailing):
			strict = false
		default:
			return false, false
		}
		if i++; p.word(i-1) && p.is(i, "(") {
			i = p.match[i] + 1
		}
	}
	return true, strict
}

// givesBlock tells whether the function of the head [start, end) has the result BlockRetStatus.
func (p *parser) givesBlock(start, end int, d declarator) bool {
	from, to := start, d.start
	if k := p.find(d.close+1, end, "->"); k < end {
		from, to = k+1, end
	}
	return p.endsWithBlock(from, to)
}

// endsWithBlock tells whether the type [from, to) is BlockRetStatus: only macros and attributes may come
// after it.
func (p *parser) endsWithBlock(from, to int) bool {
	for k := to - 1; k >= from; k-- {
		switch {
		case p.is(k, "BlockRetStatus"):
			return true
		case p.is(k, "]"):
			k = p.match[k]
		case !p.word(k):
			return false
		}
	}
	return false
}
