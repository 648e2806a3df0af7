package cli

import (
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/analysis/compare"
	"github.com/whyslow/whyslow/internal/console"
)

// failIf are conditions that make a verb end with exit code 5, for scripts.
type failIf struct {
	texts      []string
	conditions []compare.Condition
}

func (f *failIf) addTo(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.texts, "fail-if", nil, "exit with 5 if this `condition` holds, such as S>20%"+
		" (repeatable)")
}

// check reads the conditions.
func (f *failIf) check(verb string) error {
	f.conditions = nil
	for _, text := range f.texts {
		c, err := compare.ParseCondition(text)
		if err != nil {
			return console.Misuse("%s: --fail-if: %w", verb, err)
		}
		if c.Kind == compare.Growth && verb != "diff" {
			return console.Misuse("%s: --fail-if: %s: one run has not grown; whyslow diff compares two", verb, c.Text)
		}
		f.conditions = append(f.conditions, c)
	}
	return nil
}

// verdict tells the user which conditions hold, and ends the verb if any does.
func (f *failIf) verdict(io console.IO, verb string, r *compare.Result) (held error) {
	for i := range f.conditions {
		c := &f.conditions[i]
		holds, found, err := c.Holds(r)
		if err != nil {
			return console.Misuse("%s: --fail-if: %w", verb, err)
		}
		if holds {
			held = console.Exit(console.Condition, nil)
			io.Say("%s holds: %s", c.Text, found)
		}
	}
	return held
}
