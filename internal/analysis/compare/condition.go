package compare

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/words"
)

// Condition is something that may hold of a comparison, or of a single run:
//
//	wall > +5%         the figure has grown by more than 5 % of what it was in A
//	S > 20%            a factor or a part is more than 20 % of the processor time of B
//	memory > 2Gi       a figure of B, in its own unit: a time like 5ms, bytes like 64Mi, a count
//	code:solve < -10%  the time of a code fragment has shrunk by more than 10 %
//
// The relations are >, <, >= and <=. Names are those of Result.Find.
type Condition struct {
	Text     string
	Name     string
	Relation string
	Kind     Kind
	Value    float64 // percent, or the figure in ns, bytes or its count
}

// Kind tells what a condition's value is compared with.
type Kind int

// Kinds of conditions.
const (
	Absolute Kind = iota // with the figure of B
	Portion              // with the figure's share of B's processor time, in percent
	Growth               // with the growth from A to B, in percent of A
)

var conditionForm = regexp.MustCompile(`^\s*([^\s<>=]+)\s*(>=|<=|>|<)\s*(\S+)\s*$`)

// ParseCondition reads a condition.
func ParseCondition(text string) (Condition, error) {
	m := conditionForm.FindStringSubmatch(text)
	if m == nil {
		return Condition{}, fmt.Errorf("%q is not a condition such as wall>+5%%, S>20%% or memory>64Mi", text)
	}
	c := Condition{Text: strings.TrimSpace(text), Name: m[1], Relation: m[2]}
	v := m[3]
	if percent, ok := strings.CutSuffix(v, "%"); ok {
		c.Kind = Portion
		if strings.HasPrefix(v, "+") || strings.HasPrefix(v, "-") {
			c.Kind = Growth
		}
		x, err := strconv.ParseFloat(percent, 64)
		if err != nil || x-x != 0 {
			return Condition{}, fmt.Errorf("%s: %q is not a percentage", c.Text, v)
		}
		c.Value = x
		return c, nil
	}
	x, err := figure(v)
	if err != nil {
		return Condition{}, fmt.Errorf("%s: %q is not a percentage, time, size or number", c.Text, v)
	}
	c.Value = x
	return c, nil
}

// figure reads a number, a time such as 5ms, in ns, or a size such as 64Mi, in bytes.
func figure(text string) (float64, error) {
	if d, err := time.ParseDuration(text); err == nil && strings.Trim(text, "+-0123456789.") != "" {
		return float64(d), nil
	}
	for _, s := range []struct {
		suffix string
		factor float64
	}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}} {
		if number, ok := strings.CutSuffix(strings.TrimSuffix(text, "B"), s.suffix); ok {
			x, err := strconv.ParseFloat(number, 64)
			return x * s.factor, err
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && x-x != 0 {
		err = errors.New("not finite")
	}
	return x, err
}

// Holds tells whether the condition holds, and in words what was found. An error says that it cannot be told:
// there is no such figure, or a run does not have it.
func (c *Condition) Holds(r *Result) (holds bool, found string, err error) {
	row := r.Find(c.Name)
	if row == nil {
		return false, "",
			fmt.Errorf("%s: there is no figure %s; there are wall, total, U, S, L, O, W, their parts such as "+
				"O.dispatch, code:NAME, path, cfs, memory, messages, bytes, t1, tinf, of PGAS programs pgas.METRIC",
				c.Text, c.Name)
	}
	if row.B == nil {
		return false, "", fmt.Errorf("%s: %s is not known of %s", c.Text, c.Name, r.B.Name)
	}
	value := float64(*row.B)
	found = fmt.Sprintf("%s is %s", c.Name, words.English.Amount(*row.B, row.Unit))
	switch c.Kind {
	case Portion:
		total := r.Find("total")
		if row.Unit != "ns" || *total.B == 0 {
			return false, "", fmt.Errorf("%s: %s is not part of the processor time; use +N%% for growth, or a value",
				c.Text, c.Name)
		}
		value = 100 * value / float64(*total.B)
		found = fmt.Sprintf("%s is %.1f %% of the processor time", c.Name, value)
	case Growth:
		if row.A == nil {
			return false, "", fmt.Errorf("%s: %s is not known of %s", c.Text, c.Name, r.A.Name)
		}
		if *row.A == 0 {
			return false, "", fmt.Errorf("%s: %s was 0: it cannot have grown by a percentage", c.Text, c.Name)
		}
		value = 100 * (value/float64(*row.A) - 1)
		found = fmt.Sprintf("%s went from %s to %s, by %+.1f %%", c.Name,
			words.English.Amount(*row.A, row.Unit), words.English.Amount(*row.B, row.Unit), value)
	}
	switch c.Relation {
	case ">":
		holds = value > c.Value
	case "<":
		holds = value < c.Value
	case ">=":
		holds = value >= c.Value
	default:
		holds = value <= c.Value
	}
	return holds, found, nil
}
