package symbols

import (
	"debug/dwarf"
	"encoding/binary"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/run/compile"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// buildVariables compiles testdata/variables.c, as C or C++, and returns the program's path.
func buildVariables(t testing.TB, compiler string, flags ...string) string {
	t.Helper()
	where := cctest.Make(t, cctest.Program{Name: "where.o", Dir: "testdata", Flags: []string{"-fPIC"},
		Sources: []string{"where.c"}, Link: []string{"-r"}})
	return cctest.Make(t, cctest.Program{Name: "variables", Dir: "testdata", Compiler: []string{compiler},
		Flags: flags, Sources: []string{"variables.c"}, Link: []string{where}})
}

// checkVariables compares what was found with what the program says, "NAME:LINE".
func checkVariables(t *testing.T, got map[string]Place) {
	t.Helper()
	file := filepath.Join(compile.SourceFolder, "variables.c")
	want := map[string]Place{}
	for what := range got {
		i := strings.LastIndex(what, ":")
		line, err := strconv.Atoi(what[i+1:])
		if err != nil {
			t.Fatal(err)
		}
		want[what] = Place{Variable: what[:i], File: file, Line: line}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVariables(t *testing.T) {
	for name, test := range map[string]struct {
		compiler string
		flags    []string
		n        int
	}{
		"DWARF 2":            {"cc", []string{"-gdwarf-2"}, 9},
		"DWARF 4":            {"cc", []string{"-gdwarf-4"}, 9},
		"DWARF 5, optimised": {"cc", []string{"-gdwarf-5", "-O2"}, 9},
		"position-dependent": {"cc", []string{"-g", "-no-pie"}, 9},
		"in sections":        {"cc", []string{"-g", "-O2", "-fdata-sections", "-Wl,--gc-sections"}, 9},
		"C++":                {"c++", []string{"-g"}, 12},
		"C++, DWARF 4":       {"c++", []string{"-gdwarf-4", "-O2"}, 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := places(t, buildVariables(t, test.compiler, test.flags...))
			if len(got) != test.n {
				t.Errorf("%d are found, not %d", len(got), test.n)
			}
			checkVariables(t, got)
		})
	}
}

// TestVariablesOfObject looks into a shared object.
func TestVariablesOfObject(t *testing.T) {
	got := places(t, buildUser(t, "variables.c"))
	if len(got) != 9 {
		t.Errorf("%d are found", len(got))
	}
	checkVariables(t, got)
}

// TestVariablesWithoutInfo: the symbol table has names and where they begin.
func TestVariablesWithoutInfo(t *testing.T) {
	got := places(t, buildVariables(t, "cc", "-g0"))
	want := map[string]Place{}
	for what, name := range map[string]string{
		"queue_lock:14": "queue_lock", "locks[0]:15": "locks", "locks[3]:15": "locks+0x18",
		"state.grid[2][3]:20": "state+0x70", "state.entries[1].count:20": "state+0xc8",
		"state.entries[3].lock:20": "state+0x160", "table[2].pad[16]:21": "table+0xa8", "declared:23": "declared",
		"own_lock:38": "own_lock",
	} {
		want[what] = Place{Variable: name}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := places(t, buildVariables(t, "cc", "-g", "-s")); len(got) > 0 {
		t.Errorf("stripped: %v", got)
	}
}

// TestLocation: an address may be given as its number in a table of addresses.
func TestLocation(t *testing.T) {
	unit := &dwarf.Entry{Field: []dwarf.Field{{Attr: dwarf.AttrAddrBase, Val: int64(8),
		Class: dwarf.ClassAddrPtr}}}
	d := &declarations{unit: unit,
		addrs: []byte("headered\x10\x20\x00\x00\x00\x00\x00\x00\x30\x40\x00\x00\x00\x00\x00\x00")}
	for _, c := range []struct {
		location string
		want     uint64
		ok       bool
	}{
		{"\x03\x60\x40\x00\x00\x00\x00\x00\x00", 0x4060, true}, {"\x03\x60\x40\x00\x00\x00\x00\x00", 0, false},
		{"\x03\x60\x40\x00\x00\x00\x00\x00\x00\x23\x08", 0, false},
		{"\xa1\x00", 0x2010, true}, {"\xa1\x01", 0x4030, true}, {"\xa1\x02", 0, false}, {"\xa1\x81\x80", 0, false},
		{"\xa1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, false},
		{"\x91\x60", 0, false}, {"", 0, false},
	} {
		if got, ok := d.address([]byte(c.location), binary.LittleEndian, 8); got != c.want || ok != c.ok {
			t.Errorf("%q: %#x, %v", c.location, got, ok)
		}
	}
}

func TestIndices(t *testing.T) {
	for _, c := range []struct {
		dims  []uint64
		place uint64
		want  string
	}{{[]uint64{8}, 3, "[3]"}, {[]uint64{3, 5}, 13, "[2][3]"}, {[]uint64{0, 5}, 13, "[2][3]"},
		{[]uint64{3, 0}, 13, "[13]"}, {nil, 13, "[13]"}, {[]uint64{2, 3, 4}, 23, "[1][2][3]"}} {
		if got := indices(c.dims, c.place); got != c.want {
			t.Errorf("%v, %d: %s", c.dims, c.place, got)
		}
	}
}
