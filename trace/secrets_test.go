package trace

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestSecrets: what a command line has of tokens and passwords reaches no file.
func TestSecrets(t *testing.T) {
	for line, want := range map[string]string{
		"whyslow run --to-token S a.fa":                  "whyslow run --to-token *** a.fa",
		"whyslow run --to-token=S a.fa":                  "whyslow run --to-token=*** a.fa",
		"whyslow serve --token -S --listen :1":           "whyslow serve --token *** --listen :1",
		"whyslow serve --forward-token= x":               "whyslow serve --forward-token=*** x",
		"prog -password S --API_KEY=S":                   "prog -password *** --API_KEY=***",
		"env WHYSLOW_TOKEN=S DB_PASSWD=S prog":           "env WHYSLOW_TOKEN=*** DB_PASSWD=*** prog",
		"prog http://me:S@host/x http://h/?token=S&y=1":  "prog http://me:***@host/x http://h/?token=***&y=1",
		"prog tokens --tokenize x token secret --to a:1": "prog tokens --tokenize x token secret --to a:1",
		"prog --token": "prog --token",
	} {
		info := RunInfo{CommandLine: strings.Fields(line), Args: strings.Fields(line)}
		text, err := json.Marshal(&info)
		if err != nil {
			t.Fatal(err)
		}
		var back, old RunInfo
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		was, err := json.Marshal(map[string][]string{"command_line": info.CommandLine})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(was, &old); err != nil {
			t.Fatal(err)
		}
		for _, got := range [][]string{back.CommandLine, back.Args, old.CommandLine} {
			if !slices.Equal(got, strings.Fields(want)) {
				t.Errorf("%s\nbecame %s\nwant   %s", line, strings.Join(got, " "), want)
			}
		}
	}
}
