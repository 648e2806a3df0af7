package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// TestRelease makes a release in this checkout and in a copy of it elsewhere: all files have the same bytes.
// It unpacks the package and runs what is in it.
func TestRelease(t *testing.T) {
	effort.Only(t)
	for _, tool := range []string{"dpkg-deb", "objdump", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	if !canRun {
		t.Skip("the package has the engine")
	}
	home, dir := lunaHome(t), t.TempDir()
	run := func(where, words string) string {
		t.Helper()
		out, errs, code, err := shell(where, home, words)
		if err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %v\n%s%s", words, code, err, out, errs)
		}
		return out
	}
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	elsewhere := filepath.Join(dir, "elsewhere")
	run("..", "cp -a . "+elsewhere)
	run("..", "internal/testkit/release/release.sh "+first)
	run(elsewhere, "internal/testkit/release/release.sh "+second)
	run(dir, "diff -r first second")
	run(first, "sha256sum --check SHA256SUMS")
	for _, part := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64",
		"windows-amd64.exe", ".cdx.json"} {
		found, err := filepath.Glob(filepath.Join(first, "whyslow-"+release+"*"+part))
		if err != nil || len(found) != 1 {
			t.Errorf("%s is there %d times (%v)", part, len(found), err)
		}
	}
	sbom, err := os.ReadFile(filepath.Join(first, "whyslow-"+release+".cdx.json"))
	for _, want := range []string{`"CycloneDX"`, "pkg:golang/github.com/spf13/cobra@v", "pkg:golang/std@",
		"pkg:npm/uplot@"} {
		if err != nil || !strings.Contains(string(sbom), want) {
			t.Errorf("the SBOM has no %s (%v)", want, err)
		}
	}
	run(dir, "dpkg-deb --extract first/whyslow_*.deb root")
	if out := run(dir, "root/usr/bin/whyslow version"); !strings.Contains(out, release) ||
		!strings.Contains(out, "with engine") {
		t.Error("in the package is", out)
	}
	for _, file := range []string{"share/man/man1/whyslow-report.1.gz",
		"share/bash-completion/completions/whyslow",
		"share/zsh/vendor-completions/_whyslow", "share/fish/vendor_completions.d/whyslow.fish",
		"share/doc/whyslow/copyright", "share/doc/whyslow/changelog.gz"} {
		if _, err := os.Stat(filepath.Join(dir, "root/usr", file)); err != nil {
			t.Error(err)
		}
	}
}

// TestGoInstall: what is committed, served as a module, is installed by `go install PATH@latest` without the checkout,
// and runs and reports a LuNA program with what it has inside.
func TestGoInstall(t *testing.T) {
	effort.Only(t)
	if !canRun {
		t.Skip("needs the engine")
	}
	home, dir := lunaHome(t), t.TempDir()
	module := "github.com/whyslow/whyslow"
	served := filepath.Join(dir, "served", module, "@v")
	version := "v" + release
	for _, words := range []string{
		"mkdir -p " + served,
		"echo " + version + " > " + served + "/list",
		`echo '{"Version":"` + version + `"}' > ` + served + "/" + version + ".info",
		"git show HEAD:go.mod > " + served + "/" + version + ".mod",
		// As a proxy makes it: without modules in folders of their own.
		"git archive --format=zip --prefix=" + module + "@" + version + "/ -o " + served + "/" + version +
			".zip HEAD . ':!bench'",
		// The modules that it needs are those of go.sum: nobody has to be asked for their sums.
		"GOPROXY=file://" + dir + "/served,file://$(go env GOMODCACHE)/cache/download GOSUMDB=off" +
			" GOFLAGS=-modcacherw GOMODCACHE=" + dir + "/modules GOBIN=" + dir + "/bin go install " +
			module + "/cmd/whyslow@latest",
		dir + "/bin/whyslow --version | grep -q ' " + release + "'",
		dir + "/bin/whyslow run -q -o " + dir + "/mxm.trace examples/mxm/mxm.fa 4 8",
		dir + "/bin/whyslow report --html " + dir + "/mxm.html " + dir + "/mxm.trace",
	} {
		out, errs, code, err := shell("..", home, words)
		if err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %v\n%s%s", words, code, err, out, errs)
		}
	}
}
