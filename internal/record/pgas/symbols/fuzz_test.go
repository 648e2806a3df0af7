package symbols

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// fuzzSeeds are small programs with debug information of several kinds.
func fuzzSeeds(t testing.TB) (programs [][]byte) {
	for _, flags := range [][]string{{"-gdwarf-4"}, {"-gdwarf-5", "-O2"}, {"-g", "-gz"}, {"-g0"}} {
		program, err := os.ReadFile(build(t, flags...))
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, program)
	}
	for _, c := range [][]string{{"cc", "-gdwarf-2"}, {"c++", "-gdwarf-5"}} {
		program, err := os.ReadFile(buildVariables(t, c[0], c[1]))
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, program)
	}
	return programs
}

// FuzzResolve reads ELF files that are damaged.
func FuzzResolve(f *testing.F) {
	for _, program := range fuzzSeeds(f) {
		f.Add(program, uint64(0x1180), uint64(0x1200))
		f.Add(program, uint64(0x4040), uint64(0x4160))
	}
	f.Fuzz(func(t *testing.T, file []byte, a, b uint64) {
		found := map[uint64]Place{}
		_ = resolve(bytes.NewReader(file), []uint64{b, a, a, a + 16, b + 40}, found)
		for offset, p := range found {
			if p == (Place{}) || p.Line < 0 || p.Function != "" && p.Variable != "" {
				t.Errorf("%x: %+v", offset, p)
			}
		}
	})
}

// FuzzDamage changes single bytes of whole programs: that gets further than files made up.
func FuzzDamage(f *testing.F) {
	programs := fuzzSeeds(f)
	offsets := make([]uint64, 0, 64)
	for i := range uint64(64) {
		offsets = append(offsets, 0x1040+i*16, 0x4010+i*24)
	}
	f.Add(uint8(0), []byte{1, 2, 3, 4, 5, 6})
	f.Fuzz(func(t *testing.T, which uint8, changes []byte) {
		file := bytes.Clone(programs[int(which)%len(programs)])
		for ; len(changes) >= 4; changes = changes[4:] {
			file[(int(changes[0])<<16|int(changes[1])<<8|int(changes[2]))%len(file)] = changes[3]
		}
		_ = resolve(bytes.NewReader(file), offsets, map[uint64]Place{})
	})
}

// FuzzAddress takes texts apart.
func FuzzAddress(f *testing.F) {
	f.Add("/home/me/program+0x1200")
	f.Add("a+0x+0x")
	f.Fuzz(func(t *testing.T, text string) {
		path, offset, ok := Split(text)
		if !ok {
			return
		}
		if p, o, again := Split(Join(path, offset)); p != path || o != offset || !again {
			t.Errorf("%q: %q+%x, then %q+%x", text, path, offset, p, o)
		}
	})
}

// FuzzLoad reads tables that others have written.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"/home/me/a+0x10":{"function":"main","file":"/home/me/a.c","line":3}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), text, 0o644); err != nil {
			t.Fatal(err)
		}
		table, err := Load(dir)
		if err != nil {
			return
		}
		if err := table.Save(dir); err != nil {
			t.Fatal(err)
		}
		again, err := Load(dir)
		if err != nil || !maps.Equal(table, again) {
			t.Errorf("%v, then %v, %v", table, again, err)
		}
	})
}
