package instrument

import (
	"bytes"
	"fmt"
)

// context is how many unchanged lines a diff shows around changed ones.
const context = 3

// unified returns the unified diff, as the program patch reads it, of a text and its instrumented form: texts
// with the same number of lines, each to be compared with its counterpart. (Diff programs look for lines that
// moved and take short ones for unmoved; nothing moves here.) Equal texts give nothing.
func unified(oldName string, old []byte, newName string, new []byte) []byte {
	a, b := bytes.SplitAfter(old, []byte("\n")), bytes.SplitAfter(new, []byte("\n"))
	var out bytes.Buffer
	for i := 0; i < len(a); i++ {
		if bytes.Equal(a[i], b[i]) {
			continue
		}
		from, last := max(i-context, 0), i
		for j := i; j < len(a) && j <= last+2*context; j++ {
			if !bytes.Equal(a[j], b[j]) {
				last = j
			}
		}
		to := min(last+1+context, len(a))
		if len(a[to-1]) == 0 { // after the last newline
			to--
		}
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%[1]d,%[2]d @@\n", from+1, to-from)
		for j := from; j < to; {
			if bytes.Equal(a[j], b[j]) {
				line(&out, ' ', a[j])
				j++
				continue
			}
			end := j
			for end < to && !bytes.Equal(a[end], b[end]) {
				line(&out, '-', a[end])
				end++
			}
			for ; j < end; j++ {
				line(&out, '+', b[j])
			}
		}
		i = to - 1
	}
	return out.Bytes()
}

func line(out *bytes.Buffer, sign byte, text []byte) {
	out.WriteByte(sign)
	out.Write(text)
	if !bytes.HasSuffix(text, []byte("\n")) {
		out.WriteString("\n\\ No newline at end of file\n")
	}
}
