//go:build !cgo || !linux

package native

import (
	"errors"

	"github.com/whyslow/whyslow/prof"
)

// Close has nothing to unload.
func Close() error { return nil }

// Open returns an error that says what loading modules needs.
func Open(path string) (prof.ModuleInfo, error) {
	return prof.ModuleInfo{}, errors.New(path + ": this whyslow cannot load modules from shared libraries," +
		" which needs one built with cgo on Linux: build it again with CGO_ENABLED=1 and a C compiler")
}
