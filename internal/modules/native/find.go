package native

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// PathVariable is the environment variable that lists folders of module libraries, separated by colons.
const PathVariable = "WHYSLOW_MODULES"

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
