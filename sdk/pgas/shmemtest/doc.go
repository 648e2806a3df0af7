// Package shmemtest tests libwhyslow-shmem (sdk/pgas/shmem.c); folders with C sources cannot have tests.
package shmemtest
