//go:build unix

package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/whyslow/whyslow/internal/files"
)

// TestReadFile: nothing that a name can stand for keeps a reader or fills its memory.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(at("file"), []byte("12345"), 0o666))
	must(os.Symlink("file", at("link")))
	must(syscall.Mkfifo(at("pipe"), 0o666))
	must(os.Symlink("/dev/zero", at("zero")))
	must(os.WriteFile(at("sparse"), nil, 0o666))
	must(os.Truncate(at("sparse"), 3<<30))
	for name, want := range map[string]string{
		"file": "", "link": "", "pipe": "not a file but a pipe", "zero": "not a file but a device", ".": "folder",
		"sparse": "longer than 5 bytes", "none": "no such file",
	} {
		text, err := files.Read(at(name), 5)
		var path *fs.PathError
		switch {
		case want == "" && (err != nil || string(text) != "12345"):
			t.Errorf("%s: %q, %v", name, text, err)
		case want != "" && (!errors.As(err, &path) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
