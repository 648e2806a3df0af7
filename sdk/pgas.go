package sdk

import "embed"

// PGAS holds the sources of the collectors for PGAS programs, which stand in the folder pgas. They are
// compiled with Header beside them as whyslow.h:
//
//	cc -O2 -g -fPIC -shared -pthread -o libwhyslow-gasp.so gasp.c
//
//go:embed pgas/*.c pgas/*.h pgas/*.upc
var PGAS embed.FS
