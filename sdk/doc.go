// Package sdk holds whyslow.h, which records traces from C and C++. It is one header
// file without dependencies: docs/c-sdk.md tells how to use it, the parts in src what
// is inside.
package sdk

import _ "embed"

//go:generate go run ./gen

// Header is the text of whyslow.h.
//
//go:embed whyslow.h
var Header string
