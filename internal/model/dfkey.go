package model

import (
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// DFKey names a DF outside of this model: "NODE:NUMBER", its number in the file of the first node that
// mentions it. While a trace grows, or in a model of a part of it, such a key stands for the same DF, though
// a DF may get another one too. "" for no DF.
func (m *Model) DFKey(df DF) string {
	if df == 0 || int(df) >= m.DFs() {
		return ""
	}
	home := m.DFHome(df)
	return strconv.FormatUint(home[0], 10) + ":" + strconv.FormatUint(home[1], 10)
}

// DFHome gives the first node that mentions a DF, of those whose files were read, and its number there. A
// model of the whole run has DFs in that order.
func (m *Model) DFHome(df DF) [2]uint64 {
	home := m.homeOf(df)
	return [2]uint64{uint64(home.node), uint64(home.df)}
}

// homeOf is DFHome, as it is kept.
func (m *Model) homeOf(df DF) dfRef {
	if m.dfHome == nil && df != 0 {
		return dfRef{m.onlyNode, trace.DF(df)}
	} else if m.dfHome == nil {
		return dfRef{}
	}
	return m.dfHome[df]
}

// forgetHomes frees what tells of where DFs stand if one file alone has them, in its order.
func (m *Model) forgetHomes() {
	if len(m.dfHome) < 2 || len(m.late) > 0 {
		return
	}
	node := m.dfHome[1].node
	if len(m.numbers[node]) != len(m.dfHome) {
		return
	}
	for df, home := range m.dfHome[1:] {
		if home != (dfRef{node, trace.DF(df + 1)}) {
			return
		}
	}
	m.dfHome, m.numbers, m.onlyNode = nil, nil, node
}

// DFGlobal names a DF for all processes that share a run: by its id or, where none of them has read its
// definition, by its home. 0 for no DF.
func (m *Model) DFGlobal(df DF) uint64 {
	if id := m.DFID(df); id != 0 || df == 0 {
		return id
	}
	home := m.homeOf(df)
	return uint64(home.node)<<32 | uint64(home.df)
}

// FindDF gives the DF with a key of any node that mentions it; 0 where there is none, or where that is no
// key.
func (m *Model) FindDF(key string) DF {
	left, right, _ := strings.Cut(key, ":")
	node, err1 := strconv.ParseUint(left, 10, 16)
	number, err2 := strconv.ParseUint(right, 10, 32)
	if err1 != nil || err2 != nil {
		return 0
	}
	return m.DFNumbered(int(node), number)
}

// DFNumbered gives the DF with a number of a node's file; 0 where nothing read here mentions it.
func (m *Model) DFNumbered(node int, number uint64) DF {
	if m.dfHome == nil {
		if node != int(m.onlyNode) || number >= uint64(m.DFs()) {
			return 0
		}
		return DF(number)
	}
	if node < len(m.numbers) {
		if list := m.numbers[node]; number < uint64(len(list)) && list[number] != 0 {
			return list[number]
		}
	}
	return m.late[dfRef{uint32(node), trace.DF(number)}]
}

// DFNumbers gives the numbers that a DF has in a node's file.
func (m *Model) DFNumbers(node int, df DF) (numbers []uint64) {
	if m.dfHome == nil {
		if node != int(m.onlyNode) || df == 0 {
			return nil
		}
		return []uint64{uint64(df)}
	}
	if node < len(m.numbers) {
		for number, d := range m.numbers[node] {
			if d == df {
				numbers = append(numbers, uint64(number))
			}
		}
	}
	// One without definition has no other number than its home's.
	if home := m.homeOf(df); int(home.node) == node && m.late[home] == df {
		numbers = append(numbers, uint64(home.df))
	}
	return numbers
}

// CodeAt gives the code fragment of the statement with a number of a node's file, 0 where it is not defined.
func (m *Model) CodeAt(node int, site uint64) int {
	if node < len(m.siteNumbers) && site < uint64(len(m.siteNumbers[node])) {
		return m.Sites[m.siteNumbers[node][site]].Code
	}
	return 0
}

// DFID gives the 64-bit id of a DF, the same in all models of a run; 0 where no definition of the DF was
// read.
func (m *Model) DFID(df DF) uint64 {
	var space [8]int64
	identity := m.AppendIdentity(space[:0], df)
	if len(identity) == 0 {
		return 0
	}
	return trace.IdentityID(identity)
}
