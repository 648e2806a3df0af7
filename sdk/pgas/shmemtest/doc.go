// Package shmemtest tests libwhyslow-shmem (sdk/pgas/shmem.c) with compiled OpenSHMEM programs. It has
// nothing but tests: a folder with C sources cannot have them itself.
package shmemtest
