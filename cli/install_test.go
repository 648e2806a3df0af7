package cli

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
)

// TestInstall installs into an empty folder, uses what is there as a shell and man would, and uninstalls.
func TestInstall(t *testing.T) {
	for _, tool := range []string{"make", "install", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	home, prefix := lunaHome(t), filepath.Join(t.TempDir(), "usr local")
	// The test is the program: nothing is built again.
	makefile := func(target string) {
		t.Helper()
		out, errs, code, err := shell("..", home, "make -s -o build WHYSLOW=\"$LUNA_HOME/bin/whyslow\" PREFIX='"+
			prefix+"' "+target)
		if err != nil || code != 0 {
			t.Fatalf("make %s: exit code %d, %v\n%s%s", target, code, err, out, errs)
		}
	}
	makefile("install")
	var names []string
	for _, c := range rootCommand(console.IO{Out: io.Discard, Err: io.Discard}).Commands() {
		names = append(names, c.Name())
	}
	for _, name := range append(names, "") {
		page := strings.TrimSuffix("whyslow-"+name, "-")
		text, err := os.ReadFile(filepath.Join(prefix, "share/man/man1", page+".1"))
		if err != nil || !strings.Contains(string(text), ".SH NAME\n") {
			t.Errorf("no manual page %s: %v", page, err)
		}
	}
	run := func(words string) string {
		t.Helper()
		out, errs, code, err := shell(prefix, home, words)
		if err != nil || code != 0 || errs != "" {
			t.Errorf("%s: exit code %d, %v\n%s", words, code, err, errs)
		}
		return out
	}
	if out := run("bin/whyslow --version"); !strings.HasPrefix(out, "whyslow "+release) {
		t.Error("installed was", out)
	}
	// What bash offers after "whyslow report --fail-i".
	offered := run(`PATH=$PWD/bin:$PATH bash --norc -c '
		compopt() { :; } # works only where bash itself completes
		_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=; }
		_init_completion() { _get_comp_words_by_ref; }
		. share/bash-completion/completions/whyslow
		COMP_WORDS=(whyslow report --fail-i) COMP_CWORD=2 COMP_LINE="whyslow report --fail-i"
		COMP_POINT=23 COMP_TYPE=9
		__start_whyslow; printf "%s\n" "${COMPREPLY[@]}"'`)
	if !strings.Contains(offered, "--fail-if") {
		t.Errorf("bash offers %q", offered)
	}
	if _, err := exec.LookPath("groff"); err == nil {
		for _, verb := range []string{"", "-run", "-report"} {
			page := run("groff -man -ww -Tutf8 -P-cbou share/man/man1/whyslow" + verb + ".1")
			for _, want := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "--help"} {
				if !strings.Contains(page, want) {
					t.Errorf("the manual of %q has no %s", verb, want)
				}
			}
		}
	}
	makefile("uninstall")
	err := filepath.WalkDir(prefix, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Error("left behind:", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestManualHasTheHelp finds every flag of every verb and every line of its text in its manual page.
func TestManualHasTheHelp(t *testing.T) {
	backslash := regexp.MustCompile(`\\f[BIR]|\\&`)
	for _, c := range rootCommand(console.IO{Out: io.Discard, Err: io.Discard}).Commands() {
		page := backslash.ReplaceAllString(string(manPage(c)), "")
		page = strings.NewReplacer(`\-`, "-", `\e`, `\`).Replace(page)
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if !strings.Contains(page, strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s: the manual lacks: %s", c.Name(), line)
			}
		}
		for _, word := range regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`).FindAllStringSubmatch(
			c.LocalFlags().FlagUsages(), -1) {
			if !strings.Contains(page, word[1]) {
				t.Errorf("%s: the manual lacks %s", c.Name(), word[1])
			}
		}
	}
}

// TestChangelog: the newest version there is the version of the program.
func TestChangelog(t *testing.T) {
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## (\S+)`).FindStringSubmatch(string(text))
	if newest == nil || newest[1] != release {
		t.Errorf("the program is %s, the newest part of CHANGELOG.md %q", release, newest)
	}
}
