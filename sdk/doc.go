// Package sdk holds whyslow.h and whyslow.hpp. The first records traces from C and C++: docs/c-sdk.md
// tells how to use it. The second, on top of it, gives C++ run-time systems events, modules and
// configuration: docs/cpp-sdk.md. Both are put together by gen from the parts in src.
package sdk

import "embed"

//go:generate go run ./gen

// Header is the text of whyslow.h.
//
//go:embed whyslow.h
var Header string

// HeaderCPP is the text of whyslow.hpp.
//
//go:embed whyslow.hpp
var HeaderCPP string

// ModuleHeader is the text of whyslow_module.h, the interface of modules in shared libraries.
//
//go:embed whyslow_module.h
var ModuleHeader string

// ModuleHeaderCPP is the text of whyslow_module.hpp, its C++ layer.
//
//go:embed whyslow_module.hpp
var ModuleHeaderCPP string

// PGAS holds the sources of the collectors for PGAS programs, which stand in the folder pgas. They are
// compiled with Header beside them as whyslow.h:
//
//	cc -O2 -g -fPIC -shared -pthread -o libwhyslow-gasp.so gasp.c
//
//go:embed pgas/*.c pgas/*.h pgas/*.upc
var PGAS embed.FS

// OMP holds the sources of the collector for OpenMP programs, which stand in the folder omp and use some of
// PGAS. They are compiled with Header and PGAS as they lie here.
//
//go:embed omp/*.c omp/*.h
var OMP embed.FS

// MPI holds the sources of the collector for MPI programs, which stand in the folder mpi and use some of
// PGAS. They are compiled with the compiler of an MPI.
//
//go:embed mpi/*.c mpi/*.h
var MPI embed.FS
