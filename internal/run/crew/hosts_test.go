package crew

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/procs"
)

// What rank 0 says where hosts have not the same files, with goroutines in the place of hosts.
func TestSameCode(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, text)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	type rank struct {
		program, library string
		read             map[string]string
	}
	same := rank{"p", file("lib"), map[string]string{"/home/a/x.cpp": "1", "/usr/include/stdio.h": "2"}}
	for name, c := range map[string]struct {
		there   rank
		warning string
		err     string
	}{
		"the same": {there: rank{"p", same.library, map[string]string{"/elsewhere/x.cpp": "1"}}},
		"program": {there: rank{"q", same.library, same.read},
			err: "the program of rank 1 (HOST) is not that of rank 0 (HOST): all hosts need the same files"},
		"file": {
			there: rank{"p", file("lib2"), map[string]string{"/home/a/x.cpp": "3", "/usr/include/stdio.h": "2"}},
			err:   "the C++ code (x.cpp) of rank 1 (HOST) is not that of rank 0 (HOST): all hosts need the same files",
		},
		"one more file": {
			there: rank{"p", file("lib2"), map[string]string{"/home/a/x.cpp": "1", "/home/a/y.cpp": "1"}},
			err:   "the C++ code (y.cpp) of rank 1 (HOST) is not that of rank 0 (HOST): all hosts need the same files",
		},
		"unknown files": {there: rank{"p", file("lib2"), nil},
			err: "the library of rank 1 (HOST) is not that of rank 0 (HOST): all hosts need the same files"},
		"compiler": {
			there: rank{"p", file("lib2"), map[string]string{"/home/a/x.cpp": "1",
				"/usr/include/stdio.h": "3"}},
			warning: "rank 1 (HOST) has compiled the C++ code with another compiler, options or libraries than rank " +
				"0 (HOST)",
		},
		"no library": {there: rank{"p", filepath.Join(dir, "none"), nil},
			err: "rank 1 (HOST): DIR/none: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var warning, text string
			together(3, func(g procs.Group) {
				r := same
				if g.Rank() == 1 {
					r = c.there
				}
				var read []Source
				if r.read != nil {
					read = Sources(r.read)
				}
				crew := &Crew{World: ranked{g: g}}
				warn, err := crew.SameCode(r.program, r.library, read)
				err = crew.Agree(err)
				mu.Lock()
				defer mu.Unlock()
				if (err != nil) != (c.err != "") {
					t.Errorf("rank %d: %v", g.Rank(), err)
				}
				if g.Rank() == 0 {
					warning = warn
					if err != nil {
						text = err.Error()
					}
				} else if warn != "" || err != nil && !errors.Is(err, ErrElsewhere) {
					t.Errorf("rank %d: %q %v", g.Rank(), warn, err)
				}
			})
			named := strings.NewReplacer("HOST", HostName(), "DIR", dir)
			if warning != named.Replace(c.warning) || text != named.Replace(c.err) {
				t.Errorf("%q %q", warning, text)
			}
		})
	}
}

// otherBuild is a rank that has another whyslow.
type otherBuild struct {
	procs.Group
	change func(*madeAs)
}

func (o otherBuild) Exchange(out [][]byte) ([][]byte, error) {
	if o.Rank() == 1 {
		for i, b := range out {
			var m madeAs
			if err := json.Unmarshal(b, &m); err != nil {
				return nil, err
			}
			o.change(&m)
			out[i] = mustJSON(m)
		}
	}
	return o.Group.Exchange(out)
}

func TestSameBuild(t *testing.T) {
	for want, change := range map[string]func(*madeAs){
		"": func(*madeAs) {},
		"rank 1 (node-b) is another build of whyslow": func(m *madeAs) {
			m.Host, m.Build = "node-b", "other"
		},
		"rank 1 (" + HostName() + ") is whyslow v7, rank 0 (" + HostName() + ") is whyslow test": func(m *madeAs) {
			m.Version = "whyslow v7"
		},
	} {
		together(3, func(g procs.Group) {
			err := sameBuild(ranked{g: otherBuild{g, change}}, "whyslow test")
			switch {
			case want == "" && err != nil, want != "" && err == nil:
				t.Errorf("rank %d: %v", g.Rank(), err)
			case g.Rank() == 0 && err != nil && !strings.HasPrefix(err.Error(), want):
				t.Errorf("%v, and not %s", err, want)
			case g.Rank() > 0 && err != nil && !errors.Is(err, ErrElsewhere):
				t.Errorf("rank %d says %v", g.Rank(), err)
			}
		})
	}
}

func TestBuildID(t *testing.T) {
	if id := buildID(); id != "" && len(id) != 64 {
		t.Errorf("%q", id)
	} else if exe, err := os.ReadFile("/proc/self/exe"); err == nil && len(exe) > 0 && id == "" &&
		string(exe[1:4]) == "ELF" {
		t.Error("this is an ELF file and has none")
	}
}
