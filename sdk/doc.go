// Package sdk holds whyslow.h and whyslow.hpp. The first records traces from C and C++: docs/c-sdk.md
// tells how to use it. The second, on top of it, gives C++ run-time systems events, modules and
// configuration: docs/cpp-sdk.md. Both are put together by gen from the parts in src.
package sdk

import _ "embed"

//go:generate go run ./gen

// Header is the text of whyslow.h.
//
//go:embed whyslow.h
var Header string

// HeaderCPP is the text of whyslow.hpp.
//
//go:embed whyslow.hpp
var HeaderCPP string
