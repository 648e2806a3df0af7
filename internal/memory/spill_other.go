//go:build !linux

package memory

import "os"

// Elsewhere blocks of a file cannot be reserved, or its pages not be let go of: there is no Spill.

func spillRoom(string) (int64, bool)                { return 0, false }
func spillMap(*os.File, int64, int) ([]byte, error) { return nil, ErrNoSpill }
func spillUnmap([]byte)                             {}
func spillDrop([]byte)                              {}
func spillResident() int64                          { return 0 }
