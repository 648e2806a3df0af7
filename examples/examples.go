// Package examples holds the example programs that whyslow runs itself, so that it needs no folder of them.
package examples

import "embed"

// Experiments are the programs of the experiments: a folder each, with all that it is compiled from.
//
//go:embed chains/*.fa chains/*.cpp granularity/*.fa granularity/*.cpp crossed/*.fa crossed/*.cpp pic/*.fa pic/*.cpp pic/*.hpp
//go:embed mxm/*.fa mxm/*.cpp
var Experiments embed.FS

// UPC are programs with the operations of UPC, see upc/README.md.
//
//go:embed upc/*.c upc/*.h
var UPC embed.FS
