package tracetest

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
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
	var files []*tracefile.BlockFile
	for node := range nodes {
		out, err := os.Create(filepath.Join(dir, tracefile.FileName(node)))
		if err != nil {
			t.Fatal(err)
		}
		f, err := tracefile.NewBlockFile(out, node, "", 2)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	put := func(count int, raw []byte) {
		for _, f := range files {
			h := tracefile.Header{Kind: tracefile.DefsBlock, Count: uint32(min(count, len(raw)))}
			if err := f.Put(&h, raw); err != nil {
				t.Fatal(err)
			}
		}
	}
	long := make([]byte, 64<<10)
	for block := range 4 {
		const dfs = 1<<20 - 1
		switch what {
		case "names":
			var rows []byte
			for i := range 255 {
				rows = append(rows, row(1, long, uint64(255*block+i+1))...)
			}
			put(1, greedyRows(255, rows))
		case "sites":
			rows := bytes.Repeat(row(3, nil, 1, 0, 0, 0, 0, 0, 0), dfs)
			put(1, greedyRows(dfs+1, append(rows, row(3, nil, uint64(block+1)<<21+1, 0, 0, 0, 0, 0, 0)...)))
		case "far":
			if block == 0 {
				put(1, greedyRows(1, row(3, nil, 1<<24-1, 0, 0, 0, 0, 0, 0)))
			}
		case "dfs": // 16 blocks are as long as one of "block"
			for part := range 15 {
				put(dfs, greedyDFs((15*block+part)*dfs+1, dfs, 0))
			}
		case "block":
			const n = 16<<20 - 64
			put(n, greedyDFs(block*n+1, n, 0))
		case "identities":
			for range 15 {
				put(1, greedyDFs(1, 1020, 1020))
			}
		case "kinds":
			const kinds, names, again = 768, 16, 64
			var rows []byte
			for i := range kinds * names {
				name := []byte{1, 'N', 3, 'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676%26), 0, 0}
				rows = append(rows, row(4, name, uint64(256+i%kinds))...)
			}
			put(1, greedyRows(kinds*names*again, bytes.Repeat(rows, again)))
		}
	}
	for _, f := range files {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// row is a definition: its tag, the length of what follows, numbers, and bytes.
func row(tag byte, end []byte, words ...uint64) []byte {
	var b []byte
	for _, w := range words {
		b = binary.AppendUvarint(b, w)
	}
	b = append(b, end...)
	return append(binary.AppendUvarint([]byte{tag}, uint64(len(b))), b...)
}

// greedyRows is the payload of a block of n definitions without DFs.
func greedyRows(n int, rows []byte) []byte {
	head := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(n)), uint64(len(rows)))
	return slices.Concat(head, rows, []byte{0})
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
