package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tests in testdata/lang have the form of LuNA's own test-suite: a folder with a file conf is a test.

const langDir = "../testdata/lang"

// conf is what a test's conf file says.
type conf struct {
	run                      string
	retcode                  int
	stdout, stderr           string // files
	stdoutEmpty, stderrEmpty bool
	stdoutMatch, stderrMatch []*regexp.Regexp
	clean, check             []string
	haveRun, haveRet         bool
}

func readConf(path string) (*conf, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := new(conf)
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		var err error
		switch key {
		case "RUN":
			c.run, c.haveRun = value, true
		case "RETCODE":
			c.haveRet = true
			c.retcode, err = strconv.Atoi(value)
		case "STDOUT":
			c.stdout = value
		case "STDERR":
			c.stderr = value
		case "STDOUT_EMPTY":
			c.stdoutEmpty = true
		case "STDERR_EMPTY":
			c.stderrEmpty = true
		case "STDOUT_MATCH", "STDERR_MATCH":
			var re *regexp.Regexp
			if re, err = regexp.Compile("(?m)" + value); err == nil {
				list := &c.stdoutMatch
				if key == "STDERR_MATCH" {
					list = &c.stderrMatch
				}
				*list = append(*list, re)
			}
		case "CLEAN":
			c.clean = strings.Fields(value)
		case "CHECK":
			c.check = append(c.check, value)
		default:
			err = errors.New("unknown key")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %q: %w", path, n+1, line, err)
		}
	}
	if !c.haveRun || !c.haveRet {
		return nil, fmt.Errorf("%s: RUN and RETCODE are required", path)
	}
	return c, nil
}

// lunaHome makes a folder with bin/luna, bin/rts and bin/whyslow, all this test binary.
func lunaHome(t *testing.T) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"luna", "rts", "whyslow"} {
		if err := os.Symlink(self, filepath.Join(home, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func langTests(t *testing.T) []string {
	found, err := filepath.Glob(filepath.Join(langDir, "*", "conf"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no tests in %s: %v", langDir, err)
	}
	return found
}

func shell(dir, home, command string) (stdout, stderr string, code int, err error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LUNA_HOME="+home, "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode(), err
}

func TestLang(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home := lunaHome(t)
	for _, path := range langTests(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			langTest(t, path, home, 1)
		})
	}
}

// expectedOn is the file of what is expected on several ranks, where a program prints which rank does what:
// FILE.RANKS.
func expectedOn(dir, file string, ranks int) string {
	on := fmt.Sprintf("%s.%d", file, ranks)
	if _, err := os.Stat(filepath.Join(dir, on)); err == nil {
		return on
	}
	return file
}

// langTest does what a conf file says. On several ranks the lines of the standard output may come in another
// order, and each rank may leave record files.
func langTest(t *testing.T, path, home string, ranks int) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	c, err := readConf(path)
	if err != nil {
		t.Fatal(err)
	}
	before := list(t, dir)
	stdout, stderr, code, err := shell(dir, home, c.run)
	if err != nil {
		t.Fatal(err)
	}
	if code != c.retcode {
		t.Errorf("exit code %d, want %d", code, c.retcode)
	}
	checkOutput(t, dir, "stdout", stdout, expectedOn(dir, c.stdout, ranks), c.stdoutEmpty,
		c.stdoutMatch, ranks > 1)
	checkOutput(t, dir, "stderr", stderr, c.stderr, c.stderrEmpty, c.stderrMatch, ranks > 1)
	for _, command := range c.check {
		if out, errs, code, err := shell(dir, home, command); code != 0 || err != nil {
			t.Errorf("CHECK %s: exit code %d %v\n%s%s", command, code, err, out, errs)
		}
	}
	for _, name := range c.clean {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Errorf("CLEAN: %v", err)
		}
	}
	after := slices.DeleteFunc(list(t, dir), func(name string) bool {
		m := recordFile.FindStringSubmatch(name)
		return ranks > 1 && m != nil && m[1] != "0"
	})
	if !slices.Equal(before, after) {
		t.Errorf("files left over:\n%v\nwant\n%v", after, before)
	}
	if t.Failed() {
		t.Logf("%s\n-- stdout\n%s-- stderr\n%s", c.run, stdout, stderr)
	}
}

var recordFile = regexp.MustCompile(`^(?:id|cf|pending)\.(\d+)\.(?:map|json)\.list$`)

func list(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func checkOutput(t *testing.T, dir, what, got, file string, empty bool, matches []*regexp.Regexp,
	anyOrder bool) {
	t.Helper()
	if file != "" {
		want, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) && !(anyOrder && slices.Equal(sortedLines(got), sortedLines(string(want)))) {
			t.Errorf("%s is not %s", what, file)
		}
	}
	if empty && got != "" {
		t.Errorf("%s is not empty", what)
	}
	for _, re := range matches {
		if !re.MatchString(got) {
			t.Errorf("%s: no line matches %s", what, re)
		}
	}
}

// programWords finds the program and its arguments in a conf's command.
var programWords = regexp.MustCompile(`\S+\.fa\b[^&|;]*`)

// A lineProgram is a program of the language tests that ends well, and the lines that one run prints, sorted:
// what conf's STDOUT says or, where its command runs the program more than once, the file expected.run.
type lineProgram struct {
	name  string
	words string // the program and its arguments
	want  []string
	dir   string
}

func linePrograms(t *testing.T) (programs []lineProgram) {
	for _, path := range langTests(t) {
		c, err := readConf(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.stdout == "" {
			continue
		}
		dir := filepath.Dir(path)
		expected, err := os.ReadFile(filepath.Join(dir, "expected.run"))
		if err != nil {
			expected, err = os.ReadFile(filepath.Join(dir, c.stdout))
		}
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, lineProgram{filepath.Base(dir), programWords.FindString(c.run),
			sortedLines(string(expected)), dir})
	}
	return programs
}

// TestLangShapes runs the programs that end well on other numbers of nodes and workers: the same lines must
// come out.
func TestLangShapes(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home := lunaHome(t)
	for _, p := range linePrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			// One after the other: the first compiles, the others find it compiled.
			for _, shape := range []string{"-n 1 -w 1", "-n 1 -w 4", "-n 4 -w 1"} {
				p.run(t, home, "whyslow run "+shape, p.want)
			}
		})
	}
}

// run runs the program by a command, which is to print these lines.
func (p *lineProgram) run(t *testing.T, home, command string, want []string) {
	t.Helper()
	stdout, stderr, code, err := shell(p.dir, home, fmt.Sprintf("%s -q -o %s %s", command,
		filepath.Join(t.TempDir(), "t"), p.words))
	if err != nil || code != 0 {
		t.Fatalf("%s: exit code %d, %v\n%s", command, code, err, stderr)
	}
	if got := sortedLines(stdout); !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", command, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func sortedLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(lines)
	return lines
}
