package native

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/prof"
)

// PathVariable is the environment variable that lists folders of module libraries, separated by colons.
const PathVariable = "WHYSLOW_MODULES"

// Gauge is implemented by modules that can be asked for numbers by name while the program runs, from any goroutine. Those of
// Open implement it, and can ask others that do.
type Gauge interface {
	// Gauge returns the number of that name for a node; false: there is none.
	Gauge(what string, node int) (float64, bool)
}

// Find returns the library of the module of that name, which may begin with "lib": libNAME.so, else NAME.so, in the first of dirs,
// and after them of the folders in WHYSLOW_MODULES, that has one.
func Find(name string, dirs []string) (string, error) {
	dirs = append(slices.Clone(dirs), filepath.SplitList(os.Getenv(PathVariable))...)
	name = strings.TrimPrefix(name, "lib")
	var asked []string
	for _, dir := range dirs {
		if dir == "" || slices.Contains(asked, dir) {
			continue
		}
		asked = append(asked, dir)
		for _, file := range []string{"lib" + name + ".so", name + ".so"} {
			path := filepath.Join(dir, file)
			if in, err := os.Stat(path); err == nil && in.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	where := "nowhere to look for it"
	if len(asked) > 0 {
		where = "it is not in " + strings.Join(asked, ", ")
	}
	return "", fmt.Errorf("there is no module %s, nor its library lib%s.so: %s; give its path as \"library\" in the settings of modules, or its folder in %s",
		name, name, where, PathVariable)
}

// Load opens the library at path, or if that is "" the one that Find finds, and sees that its module has that name, which may
// begin with "lib".
func Load(name, path string, dirs []string) (prof.ModuleInfo, error) {
	if path == "" {
		var err error
		if path, err = Find(name, dirs); err != nil {
			return prof.ModuleInfo{}, err
		}
	}
	info, err := Open(path)
	if err != nil {
		return prof.ModuleInfo{}, err
	}
	if want := strings.TrimPrefix(name, "lib"); info.Name != want && info.Name != name {
		return prof.ModuleInfo{}, fmt.Errorf("%s holds module %s, not %s: name it so in the settings of modules", path, info.Name, want)
	}
	return info, nil
}
