package launch

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// setting is what a variable of the environment may say to the libraries: a word, or a number.
type setting struct {
	name     string
	words    []string
	min, max int64
}

// settings are those that the libraries refuse some values of; sdk/src/context.h and sdk/pgas read them.
var settings = []setting{
	{name: "WHYSLOW_BUFFER", min: 1 << 10, max: 64 << 20},
	{name: "WHYSLOW_POOL", min: 1, max: 1 << 20},
	{name: "WHYSLOW_LEVEL", min: -1, max: 4},
	{name: "WHYSLOW_FLUSH", min: 0, max: 1000000},
	{name: "WHYSLOW_SYNC", words: []string{"0", "1"}},
	{name: "WHYSLOW_FULL", words: []string{"wait", "drop"}},
	{name: "WHYSLOW_SIGNALS", words: []string{"0", "1"}},
	{name: "WHYSLOW_CLOCK", words: []string{"monotonic", "tsc", "auto"}},
	{name: "WHYSLOW_OFF", words: []string{"0", "1"}},
	{name: "WHYSLOW_INSTRUMENT", words: []string{"auto", "sync", "calls", "local", "functions"}},
	{name: "WHYSLOW_CLOCK_SYNC", words: []string{"auto", "off", "always"}},
	{name: "WHYSLOW_GASP_TABLE", words: []string{"bupc", "gupc", "auto"}},
	{name: "WHYSLOW_RUN_ID"},
}

// CheckSettings finds what the libraries would refuse in the environment, but for variables that are given
// other values. They would go on with their defaults and say so, once for every process.
func CheckSettings(given map[string]string) error {
	for i := range settings {
		s := &settings[i]
		if _, ok := given[s.name]; ok {
			continue
		}
		if value := os.Getenv(s.name); value != "" && !s.takes(value) {
			return fmt.Errorf("%s=%s: it must be %s", s.name, value, s.what())
		}
	}
	return nil
}

var (
	runID  = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)
	number = regexp.MustCompile(`^(-?)0*([0-9]{1,12})(?:([kK]i?)|([mM]i?))?$`)
)

// takes tells whether the libraries take a value.
func (s *setting) takes(value string) bool {
	switch {
	case s.words != nil:
		return slices.Contains(s.words, value)
	case s.max == 0:
		return runID.MatchString(value)
	}
	m := number.FindStringSubmatch(value)
	if m == nil {
		return false
	}
	v, _ := strconv.ParseInt(m[2], 10, 64) // of 12 digits
	switch {
	case m[3] != "":
		v <<= 10
	case m[4] != "":
		v <<= 20
	}
	if m[1] != "" {
		v = -v
	}
	return v >= s.min && v <= s.max && (m[1] == "" || v < 0)
}

// what says what a value must be.
func (s *setting) what() string {
	switch {
	case s.words != nil:
		last := len(s.words) - 1
		return strings.Join(s.words[:last], ", ") + " or " + s.words[last]
	case s.max == 0:
		return "32 hexadecimal digits"
	}
	return fmt.Sprintf("a number from %d to %d", s.min, s.max)
}
