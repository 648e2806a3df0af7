package compile

import (
	"errors"
	"os/exec"
	"testing"
)

// TestFolderSources has sources that lie in a Folder of the cache change: what was made of the others is not
// taken for the result.
func TestFolderSources(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c, err := Open("", "")
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]string{}
	for _, code := range []string{"3", "4", "3"} {
		dir, err := c.Folder(map[string]string{"main.c": "#include \"code.h\"\nint main(void) { return CODE; }\n",
			"code.h": "#define CODE " + code + "\n"})
		if err != nil {
			t.Fatal(err)
		}
		path, err := Program{Name: "prog", Dir: dir, Sources: []string{"main.c"}}.Make(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if old, again := made[code]; again && old != path {
			t.Errorf("code %s was made twice: %s and %s", code, old, path)
		}
		made[code] = path
		err = exec.CommandContext(t.Context(), path).Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != int(code[0]-'0') {
			t.Errorf("code %s: the program ends with %v", code, err)
		}
	}
}
