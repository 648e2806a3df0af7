// Package licences has the notices of what others wrote and whyslow's binary contains: Go itself and Go
// modules. Those of the page's packages are in web/dist/licenses.md.
package licences

import _ "embed"

//go:generate go test -run TestCurrent . -args -update

// Go is the text: a heading "## MODULE - VERSION" and the licence files for each module.
//
//go:embed go.md
var Go string
