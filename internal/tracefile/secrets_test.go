package tracefile

import (
	"slices"
	"strings"
	"testing"
)

// FuzzRedact: redacting again changes nothing, and the number of arguments stays.
func FuzzRedact(f *testing.F) {
	f.Add("--token\x00S\x00--token=S\x00http://a:b@c?token=d")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		once := Redact(args)
		if twice := Redact(once); len(once) != len(args) || !slices.Equal(once, twice) {
			t.Fatalf("%q became %q, then %q", args, once, twice)
		}
	})
}
