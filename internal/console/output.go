package console

import "io"

// Output is a writer that remembers its first error, for what prints line by line and looks at none.
type Output struct {
	W   io.Writer
	Err error
}

// Unwrap is the writer beneath.
func (o *Output) Unwrap() io.Writer { return o.W }

// Beneath is the file that a writer writes to in the end: for a child process, which then sees the terminal,
// and for bytes that are no text.
func Beneath(w io.Writer) io.Writer {
	for {
		wrapped, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = wrapped.Unwrap()
	}
}

func (o *Output) Write(b []byte) (int, error) {
	n, err := o.W.Write(b)
	if o.Err == nil {
		o.Err = err
	}
	return n, err
}
