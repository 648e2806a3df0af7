package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shBlock is a command in a document that must work as it stands: one marked sh in a folder that has the
// examples, one marked "sh root" in the root of the repository (what that makes goes to build/), one marked
// "sh mpi" where mpirun is there, one marked "sh mpicc" where MPI programs can be compiled too, one marked "sh shmem" where OpenSHMEM is, one marked "sh omp" where OpenMP
// programs can be recorded.
var shBlock = regexp.MustCompile("(?ms)^```sh( root| mpi| mpicc| shmem| omp)?\n(.*?)^```$")

// rowCommand is a command in the last cell of a table; those of a page that says so are run like blocks.
var rowCommand = regexp.MustCompile("(?m)^\\|.*\\|( shmem)? `([^`\n]+)` \\|$")

const rowsRun = "<!-- the commands of the tables are run -->"

// commandsOf gives where the commands of a page are: all, the mark, the text.
func commandsOf(page string) [][]int {
	blocks := shBlock.FindAllStringSubmatchIndex(page, -1)
	if strings.Contains(page, rowsRun) {
		blocks = append(blocks, rowCommand.FindAllStringSubmatchIndex(page, -1)...)
		slices.SortFunc(blocks, func(a, b []int) int { return a[0] - b[0] })
	}
	return blocks
}

// TestDocs runs every block marked sh in README.md and docs/, those of a page one after the other.
func TestDocs(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	testDocs(t, false)
}

// TestMPIDocs runs the pages that have blocks marked "sh mpi", with these.
func TestMPIDocs(t *testing.T) {
	needMPI(t)
	testDocs(t, true)
}

func testDocs(t *testing.T, mpi bool) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	home := lunaHome(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	examples := filepath.Join(t.TempDir(), "examples") // one for all, so that each is compiled once
	if err := os.CopyFS(examples, os.DirFS("../examples")); err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := commandsOf(string(text))
		if len(blocks) == 0 || mpi && !strings.Contains(string(text), "\n```sh mpi\n") {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Symlink(examples, filepath.Join(dir, "examples")); err != nil {
				t.Fatal(err)
			}
			for _, b := range blocks {
				line := 1 + strings.Count(string(text[:b[4]]), "\n")
				where := dir
				if b[2] >= 0 {
					switch string(text[b[2]:b[3]]) {
					case " root":
						where = root
					case " mpi":
						if !mpi {
							continue
						}
					case " mpicc":
						if !hasMPICC() || mpi {
							continue
						}
					case " shmem":
						if !hasShmem() {
							continue
						}
					case " omp":
						if !hasOMP() {
							continue
						}
					}
				}
				stdout, stderr, code, err := shell(where, home, "set -eu\n"+string(text[b[4]:b[5]]))
				if err != nil || code != 0 {
					t.Fatalf("%s:%d: exit code %d, %v\n%s%s", page, line, code, err, stdout, stderr)
				}
			}
		})
	}
}

var codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")

var mdLink = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestDocLinks checks that what the documents point to in this repository exists.
func TestDocLinks(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mdLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", page, m[1], err)
			}
		}
	}
}
