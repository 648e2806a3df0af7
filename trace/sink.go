package trace

import "github.com/whyslow/whyslow/internal/tracefile"

// CreateSink returns a Writer that writes no file: each block of definitions and events goes to sink, in the
// order they would have in the file of the node. It is valid during the call. sink is called by one goroutine
// at a time, that which writes; it holds the writing up as a slow disk would. After an error of it nothing
// more is given, as if the disk were full.
func CreateSink(node int, opt Options, sink func(block []byte) error) (*Writer, error) {
	if err := tracefile.CheckFile(node, opt.Run); err != nil {
		return nil, err
	}
	return newWriter(sinkOutput(sink), node, opt)
}

// sinkOutput is an output that passes blocks on.
type sinkOutput func(block []byte) error

// Write gets what a BlockFile writes at once: a file header, a block or a trailer.
func (sink sinkOutput) Write(b []byte) (int, error) {
	var h tracefile.Header
	if h.Parse(b) == nil && h.Kind != tracefile.IndexBlock {
		if err := sink(b); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (sinkOutput) Truncate(int64) error                { return nil }
func (sinkOutput) Seek(at int64, _ int) (int64, error) { return at, nil }
func (sinkOutput) Close() error                        { return nil }
