package tracetest

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// Greedy writes the files of so many nodes that are small and define as much as a file of their size can.
// What they define takes gigabytes:
//
//   - "names": long strings.
//   - "sites": a statement defined a million times, then another one with twice that number.
//   - "far": one statement, with a large number.
//   - "dfs": millions of DFs.
//   - "identities": lists of indices of more than one byte each.
//   - "block": millions of DFs in one block.
//   - "kinds": one kind of user events after the other, with the names of those before.
func Greedy(t testing.TB, dir, what string, nodes int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for node := range nodes {
		greedyFile(t, filepath.Join(dir, tracefile.FileName(node)), what, node)
	}
}

func greedyFile(t testing.TB, path, what string, node int) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := tracefile.NewBlockFile(out, node, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	put := func(kind byte, count int, raw []byte) {
		h := tracefile.Header{Kind: kind, Count: uint32(min(count, len(raw)))}
		if err := f.Put(&h, raw); err != nil {
			t.Fatal(err)
		}
	}
	long := make([]byte, 64<<10)
	for block := range 4 {
		const dfs = 1<<20 - 1
		switch what {
		case "names":
			put(tracefile.DefsBlock, 1, greedyRows(255, func(i int) []byte {
				return append(row(1, uint64(255*block+i+1)), long...)
			}))
		case "sites":
			put(tracefile.DefsBlock, 1, greedyRows(1<<20, func(i int) []byte {
				return row(3, map[bool]uint64{true: uint64(block+1) << 21}[i == 1<<20-1]+1, 0, 0, 0, 0, 0, 0)
			}))
		case "far":
			if block == 0 {
				put(tracefile.DefsBlock, 1, greedyRows(1, func(int) []byte {
					return row(3, 1<<24-1, 0, 0, 0, 0, 0, 0)
				}))
			}
		case "dfs": // 16 blocks are as long as one of "block"
			for part := range 15 {
				put(tracefile.DefsBlock, dfs, greedyDFs((15*block+part)*dfs+1, dfs, 0))
			}
		case "block":
			const n = 16<<20 - 64
			put(tracefile.DefsBlock, n, greedyDFs(block*n+1, n, 0))
		case "identities":
			for range 15 {
				put(tracefile.DefsBlock, 1, greedyDFs(1, 1020, 1020))
			}
		case "kinds":
			put(tracefile.DefsBlock, 1, greedyRows(3<<18, func(i int) []byte {
				name := []byte{1, 'N', 3, 'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676%26), 0, 0}
				return append(row(4, uint64(256+i%768)), name...)
			}))
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// row is a definition: its tag and its numbers.
func row(tag byte, words ...uint64) []byte {
	b := []byte{tag}
	for _, w := range words {
		b = binary.AppendUvarint(b, w)
	}
	return b
}

// greedyRows is the payload of a block of definitions without DFs. each gives tag and content of one.
func greedyRows(n int, each func(i int) []byte) []byte {
	var rows []byte
	for i := range n {
		b := each(i)
		rows = append(binary.AppendUvarint(append(rows, b[0]), uint64(len(b)-1)), b[1:]...)
	}
	raw := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(n)), uint64(len(rows)))
	return append(append(raw, rows...), 0)
}

// greedyDFs is the payload of a block of n DFs numbered from first, each with so many indices.
func greedyDFs(first, n, elements int) []byte {
	const constant, delta = 0, 3
	raw := binary.AppendUvarint([]byte{0, 0}, uint64(n))
	raw = binary.AppendUvarint(append(raw, delta), uint64(first)<<1)
	raw = append(raw, bytes.Repeat([]byte{2}, n-1)...) // each one more than the one before
	raw = append(raw, constant, 0, constant)           // no name
	raw = binary.AppendUvarint(raw, uint64(elements))
	for column := range min(elements, 7) { // six of their own, one for the rest
		n := n
		if column == 6 {
			n *= elements - 6
		}
		raw = append(raw, delta)
		raw = append(raw, bytes.Repeat([]byte{126}, n)...)
	}
	return raw
}
