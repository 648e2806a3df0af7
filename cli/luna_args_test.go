package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLuna(t *testing.T) {
	o, err := parseLuna(strings.Fields("-q -D N=1 -D X -c --output-file=l.so --cpp-dir=a:b " +
		"--worker-threads-count=2 -O0 p.fa -5 -q"))
	if err != nil {
		t.Fatal(err)
	}
	if o.file != "p.fa" || !o.quiet || o.optimize != "-O0" || o.workers != 2 || o.libraryFile != "l.so" ||
		!o.libraryOnly {
		t.Errorf("%+v", o)
	}
	for _, c := range []struct{ got, want []string }{
		{o.args, []string{"-5", "-q"}}, {o.defines, []string{"N=1", "X"}}, {o.cppDirs, []string{"a", "b"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
	// A mistyped option is taken as the program.
	if o, err := parseLuna([]string{"--quite", "p.fa"}); err != nil || o.file != "--quite" {
		t.Errorf("%+v %v", o, err)
	}
	for words, want := range map[string]string{
		"":                                    "no program specified",
		"-q":                                  "no program specified",
		"-O -O0 p.fa":                         "conflicting optimization options",
		"--output-file=x -c p.fa":             "--output-file supported only with -c before",
		"--disable-warning=x p.fa":            "needs a number",
		"-D":                                  "-D needs a definition",
		"--worker-threads-count=0 p.fa":       "from 1 to",
		"--worker-threads-count=1000000 p.fa": "from 1 to",
	} {
		if _, err := parseLuna(strings.Fields(words)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("luna %s: %v, want %q", words, err, want)
		}
	}
}

func TestParseRTS(t *testing.T) {
	o, err := parseRTS(strings.Fields("-n 3 ./l.so 7 --worker-threads-count=2 -b -n 8"))
	if err != nil {
		t.Fatal(err)
	}
	if o.nodes != 3 || o.workers != 2 || !o.steal || o.library != "./l.so" {
		t.Errorf("%+v", o)
	}
	if diff := cmp.Diff([]string{"7", "-n", "8"}, o.args); diff != "" {
		t.Error(diff)
	}
	for words, want := range map[string]string{"": "no library", "-n": "-n needs", "-n x l.so": "-n needs"} {
		if _, err := parseRTS(strings.Fields(words)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("rts %s: %v, want %q", words, err, want)
		}
	}
}

func FuzzArgs(f *testing.F) {
	f.Add("-q -D N=1 -c --output-file=l.so p.fa -5")
	f.Add("-n 3 ./l.so 7 --worker-threads-count=2 -b")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Fields(line)
		if o, err := parseLuna(words); err == nil && !o.help && o.file == "" {
			t.Errorf("luna %q: neither a program nor an error", words)
		}
		if o, err := parseRTS(words); err == nil && !o.help && !o.version && o.library == "" {
			t.Errorf("rts %q: neither a library nor an error", words)
		}
	})
}
