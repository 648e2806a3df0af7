package lunatext_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/lunatext"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/record/lunalog"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

func load(folder fs.FS, text, dir string) (bool, error) {
	return foreign.Import(context.Background(), lunatext.Format, strings.NewReader(text), folder, dir, trace.RunInfo{})
}

func check(t *testing.T, dir string) *model.Model {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := consistency.Check(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	return sloutest.Load(t, dir)
}

// two is the log of two ranks, in which what is asked for comes from the other one, whose clock is 1 ms
// ahead.
var two = fstest.MapFS{
	"log.00": {Data: []byte(`0 | 0.100000 | WORKLOAD + 1 => 1 | /opt/luna/include/idle_stopper.h:121
0 | 0.100000 | Create CF _main : 0 | ./src/rts/rts.cpp:106
0 | 0.100010 | Invoke CF _main : 0 | ./src/rts/rts.cpp:585
0 | 0.100020 | Create CF 1001 : 2 | ./src/rts/rts.cpp:594
0 | 0.100030 | Create CF 1002 : 5 | ./src/rts/rts.cpp:594
0 | 0.100040 | Finish CF _main : 0 | ./src/rts/rts.cpp:603
0 | 0.100050 | Invoke CF 1001 : 2 | ./src/rts/rts.cpp:585
0 | 0.100060 | Invoke CF 1002 : 5 | ./src/rts/rts.cpp:585
0 | 0.100070 | Migrate CF 1002 : 5 to 1 | ./src/rts/rts.cpp:609
0 | 0.100150 | Store ID<0, 7, 3> := DF<size=80>(00...) | ./src/rts/cf.cpp:287
0 | 0.100150 | Wait ID<0, 7, 3> -> DF<size=80>(00...) by CF 1001 : 2 | ./src/rts/cf.cpp:136
0 | 0.100151 | POST ID<0, 7, 3> := DF<size=80>(00...) &1 | ./src/rts/rts.cpp:668
0 | 0.100160 | Finish CF 1001 : 2 | ./src/rts/rts.cpp:603
0 | 0.100200 | Destroyed ID<0, 7, 3> | ./src/rts/rts.cpp:700
`)},
	"log.01": {Data: []byte(`1 | 0.101080 | Receive CF 77 : 5 | ./src/rts/rts.cpp:460
1 | 0.101090 | Invoke CF 77 : 5 | ./src/rts/rts.cpp:585
1 | 0.101091 | requested	ID<0, 7, 3> by CF 77 : 5 | ./src/rts/cf.cpp:212
1 | 0.101092 | Invoke CF 77 : 6 | ./src/rts/rts.cpp:585
1 | 0.101093 | Wait ID<0, 7, 3> by CF 77 : 6 | ./src/rts/cf.cpp:136
1 | 0.101300 | responded ID<0, 7, 3>=DF<size=80>(00...) for CF 77 : 6 | ./src/rts/rts.cpp:1
1 | 0.101310 | Invoke CF 77 : 6 | ./src/rts/rts.cpp:585
1 | 0.101311 | Wait ID<0, 7, 3> -> DF<size=80>(00...) by CF 77 : 6 | ./src/rts/cf.cpp:136
1 | 0.101312 | Invoke CF 77 : 7 | ./src/rts/rts.cpp:585
1 | 0.101400 | Finish CF 77 : 7 | ./src/rts/rts.cpp:603
`)},
}

// TestRead: a log becomes a run of LuNA's.
func TestRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := load(two, "", dir); !made || err != nil {
		t.Fatal(made, err)
	}
	m := check(t, dir)
	var b strings.Builder
	for id, w := range m.AllWorkers() {
		for e := w.First; e < w.End; e++ {
			fmt.Fprintf(&b, "%d.%d %s %s %d-%d:", id.Node, id.Worker, m.Codes[m.CodeOf(m.ExecCF[e])].Name, m.Codes[m.CodeOf(
				m.ExecCF[e])].Kind, m.ExecStart[e]-m.Start, m.EndOf(e)-m.Start)
			for _, df := range m.Inputs(e) {
				fmt.Fprintf(&b, " %s", m.DFString(df))
			}
			b.WriteByte('\n')
		}
	}
	const want = `0.0 _main sub 10000-40000:
0.0 block 2 atomic 50000-160000:
1.0 block 5 atomic 1312000-1400000: ID0.7[3]
`
	if b.String() != want {
		t.Errorf("%snot\n%s", b.String(), want)
	}
	res, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	// The DF was there at 151 and had been asked for at 1091; it came at 1300.
	if f := &res.Factors; f.U.NS != 198000 || f.L == nil || f.L.NS != 209000 {
		t.Errorf("U %+v, L %+v", f.U, f.L)
	}
	if words.Imported[m.Info.Settings[model.Imported]].About.In(words.English) == "" || m.Killed {
		t.Error(m.Info.Settings, m.Killed)
	}
	if f, name, ok := foreign.Main([]foreign.Format{lunatext.Format}, two); !ok || f.Name != "luna" || name != "log.00" {
		t.Error(f.Name, name, ok)
	}
}

// TestBack: what lunalog writes of a trace can be read again: each CF executes for as long as before, to the
// microsecond.
func TestBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := load(two, "", dir); !made || err != nil {
		t.Fatal(made, err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var text strings.Builder
	if err := lunalog.Print(&text, r); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "again.trace")
	if made, err := load(nil, text.String(), again); !made || err != nil {
		t.Fatal(made, err, text.String())
	}
	tell := func(m *model.Model) string {
		var list []string
		for id, w := range m.AllWorkers() {
			for e := w.First; e < w.End; e++ {
				list = append(list, fmt.Sprint(id.Node, m.ExecStart[e]-m.Start, m.EndOf(e)-m.Start))
			}
		}
		return strings.Join(list, "\n")
	}
	if a, b := tell(check(t, dir)), tell(check(t, again)); a != b {
		t.Errorf("%s\nnot\n%s\n%s", b, a, text.String())
	}
}

// TestDamaged: errors tell where.
func TestDamaged(t *testing.T) {
	const first = "0 | 0.1 | Create CF _main : 0 | a.cpp:1\n"
	for text, want := range map[string]string{
		"":                 "the log is empty",
		first + "nonsense": `line 2, byte 40: "nonsense" is no line of a log`,
		first + "0 | 0.2 | Invoke CF _main | a.cpp:1\n":                "line 2, byte 40: no CF",
		first + "0 | 0.2 | Invoke CF _main : 99999999999 | a.cpp:1\n":  "too large",
		first + "0 | 0.2 | POST ID<0, x> := DF<int>(5) &1 | a.cpp:1\n": "consists of numbers",
		first + "0 | 0.2 | Migrate CF _main : 0 to x | a.cpp:1\n":      "names no rank",
		first + "0 | 0.2 | Wait ID<0, 1> | a.cpp:1\n":                  "no CF needs the DF",
		first + "99999 | 0.2 | x | y\n":                                "is no line of a log",
	} {
		_, err := load(nil, text, filepath.Join(t.TempDir(), "x.trace"))
		var damaged *foreign.Error
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
	if lunatext.Format.Is([]byte("a | b\n")) || !lunatext.Format.Is([]byte(first)) {
		t.Error("not told apart")
	}
}

// FuzzRead: whatever the text is, there is an error that tells where, or a trace that can be read.
func FuzzRead(f *testing.F) {
	for _, file := range two {
		f.Add(string(file.Data))
	}
	f.Add("0 | 0.1 | Stealing job CF 5 : 1 to 0 | x\n0 | 0.1 | Receive CF 5 : 1 | x\n0 | 0.1 | Finish CF 5 : 1 | x\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := filepath.Join(t.TempDir(), "x.trace")
		made, err := foreign.Import(context.Background(), lunatext.Format, io.Reader(strings.NewReader(text)), nil,
			dir, trace.RunInfo{})
		var damaged *foreign.Error
		if err != nil && !errors.As(err, &damaged) {
			t.Fatal(err)
		}
		if made {
			sloutest.Load(t, dir)
		}
	})
}
