// Package web is the page: its built files, embedded. What they are built from is beside them; see README.md.
package web

import (
	"embed"
	"io/fs"
)

//go:generate go test . -run TestWordsAreCurrent -update

//go:embed all:dist
var dist embed.FS

// Files are the files of the page, index.html among them.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // dist is embedded
	}
	return files
}
