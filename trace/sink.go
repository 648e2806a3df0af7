package trace

// CreateSink returns a Writer that writes no file: each block of definitions and events goes
// to sink, in the order they would have in the file of the node. Bytes is valid during the
// call. sink is called by one goroutine at a time, that which writes; it holds the writing up
// as a slow disk would. After an error of it nothing more is given, as if the disk were full.
func CreateSink(node int, opt Options, sink func(b *RawBlock) error) (*Writer, error) {
	if err := checkFile(node, opt.Run); err != nil {
		return nil, err
	}
	return newWriter(&sinkOutput{node: node, sink: sink}, node, opt)
}

// sinkOutput is an output that passes blocks on.
type sinkOutput struct {
	node int
	sink func(b *RawBlock) error
	at   int64
}

// Write gets what a blockFile writes at once: a file header, a block or a trailer.
func (o *sinkOutput) Write(b []byte) (int, error) {
	var blk block
	if blk.parse(b) == nil && (blk.Kind == blockDefs || blk.Kind == blockData) {
		blk.at = o.at
		raw := newRawBlock(o.node, &blk)
		raw.Bytes = b
		if err := o.sink(&raw); err != nil {
			return 0, err
		}
	}
	o.at += int64(len(b))
	return len(b), nil
}

func (o *sinkOutput) Truncate(int64) error                { return nil }
func (o *sinkOutput) Seek(at int64, _ int) (int64, error) { return at, nil }
func (o *sinkOutput) Close() error                        { return nil }
