package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/graphs"
)

// TestMPIRandom runs random programs on nodes of one process and on ranks: what they print is known. To start
// processes is what takes the time, so a program has many graphs that know nothing of each other.
func TestMPIRandom(t *testing.T) {
	needMPI(t)
	home, dir := lunaHome(t), t.TempDir()
	for i := range effort.Times(1, 50) {
		list := rapid.Custom(func(t *rapid.T) (list []*graphs.Graph) {
			for k := range 40 {
				list = append(list, graphs.Draw(t, fmt.Sprintf("g%d", k)))
			}
			return list
		}).Example(os.Getpid() + i)
		src, calls := strings.Builder{}, strings.Builder{}
		src.WriteString(graphs.Codes)
		var want []string
		for k, g := range list {
			src.WriteString(g.Src)
			fmt.Fprintf(&calls, "\tg%d();\n", k)
			for line := range g.Want {
				want = append(want, line)
			}
		}
		fmt.Fprintf(&src, "sub main()\n{\n%s}\n", calls.String())
		slices.Sort(want)
		name := fmt.Sprintf("p%d.fa", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(src.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		p := lineProgram{name: name, words: name, want: want, dir: dir}
		for _, command := range []string{"whyslow run -O0 -n 1 -w 1", "mpirun -n 2 whyslow run -O0 -w 2",
			"mpirun -n 4 whyslow run -O0 -w 1"} {
			p.run(t, home, command, want)
			if t.Failed() {
				t.Fatal(src.String())
			}
		}
	}
}
