//go:build !unix

package collect

import (
	"os"
	"path/filepath"
)

// lock only makes sure that the folder can be written to: systems other than Unix have no
// lock that ends with the process.
func lock(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, ".whyslow-collector"), os.O_CREATE|os.O_RDWR, 0o666)
}
