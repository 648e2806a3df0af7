package model

import "github.com/whyslow/whyslow/trace"

// DFID gives the 64-bit id of a DF, the same in all models of a run; 0 where no definition of the DF was
// read.
func (m *Model) DFID(df DF) uint64 {
	identity := m.identity(df)
	if len(identity) == 0 {
		return 0
	}
	return trace.IdentityID(identity)
}
