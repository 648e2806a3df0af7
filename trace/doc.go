// Package trace is the format of traces: one table of event kinds (kinds.go), a Writer,
// a Reader and a text twin (Dump, Parse). docs/trace-format.md tells the same for those
// who write a reader or writer in another language.
//
// # Files
//
// A trace is a folder: run.json (RunInfo) and a file per node, NNNNN.wst. Integers are
// little-endian; a varint is LEB128 with 7 bits a byte, the lowest first; a zigzag
// varint holds v<<1 ^ v>>63; sums are CRC-32C (Castagnoli).
//
//	file    = header block* [index block, trailer]
//	block   = block header, payload
//
//	file header, 32 bytes
//	 0       8       10      12          16                      28          32
//	+-------+-------+-------+-----------+-----------------------+-----------+
//	|WSTRACE| ver-  | its   | node      | 0                     | sum of    |
//	|    01 | sion 1| length| 32 bits   |                       | 0 to 27   |
//	+-------+-------+-------+-----------+-----------------------+-----------+
//
//	block header, 64 bytes
//	 0      4    5     6     8      12     16     24      32     40
//	+------+----+-----+-----+------+------+------+-------+------+
//	| AB   |kind|codec|flags|stream|count | base | first | last |
//	| WSB  |    |     |     |      |      | time | time  | time |
//	+------+----+-----+-----+------+------+------+-------+------+
//	 40      44     48      52      56       60        64
//	+-------+------+-------+-------+--------+---------+
//	|number |defs  |packed |raw    |sum of  |sum of   |
//	|       |before|length |length |payload |0 to 59  |
//	+-------+------+-------+-------+--------+---------+
//
//	trailer, 16 bytes: offset of the index block (64 bits), "WSINDEX" 01
//
// kind: 1 definitions, 2 data, 3 index; others are for later versions and are passed
// over. codec: 0 stored, 1 zstd (one frame, maybe followed by skippable ones). flags of
// a data block: 1 holds an onProgramStarted, 2 an onProgramFinished, 4 an onClockSync.
// stream: of a data block. count: events, definitions or index entries. base is the time of
// the first event, first and last the least and the greatest time. number counts the blocks of a
// stream from 0, and definition blocks likewise, so that a gap tells what is lost. defs
// is the number of definition blocks that come before the block: a data block uses
// nothing that is not defined in them.
//
// A reader may refuse blocks of over 16 MiB unpacked, or over 4 KiB + 64 times their
// packed length, so that a small file cannot make it allocate much.
//
// # Payloads
//
// A column is a number of 64-bit words, known from elsewhere. It is empty for no words;
// otherwise it begins with a byte:
//
//	0 constant: one varint, the value of all
//	1 plain:    a varint each
//	2 signed:   a zigzag varint each
//	3 delta:    a zigzag varint each, the difference from the word before (from 0)
//
// A data block's payload is
//
//	varint          number of kinds used in it, at most 256
//	for each kind:  varint kind, varint count of its events, varint number of fields,
//	                a byte per field: its type
//	count bytes     the kind of each event, an index into that table
//	column          times, minus base
//	for each kind with a list:
//	  column        lengths of the lists
//	for each kind, for each field that is no list:
//	  column        its values. Of a CF or Message two: nodes, counters (48 bits).
//	                Floats are turned round: the lowest byte is the sign's
//	for each kind with a list:           (it follows the kind's fields)
//	  4 columns     elements 0, 1, 2, 3 of all lists that have them, as far as any has
//	  column        all further elements
//
// Columns of elements, like the kinds, are never constant: so there are no more events
// and elements than bytes.
//
// A definition block's payload is
//
//	varint          number of rows
//	varint          bytes of them all
//	rows            each: byte tag, varint length, and that many bytes:
//	                1 string: varint number, the bytes of the string
//	                2 code:   varints number, name, kind (0 atomic, 1 sub, 2 call, 3 for,
//	                          4 while, 5 if), file, line, column
//	                3 site:   varints number, code, label, file, line, column, text
//	                4 kind:   varint kind; namespace, name, description, each a varint
//	                          length and bytes; varint number of fields, for each: byte
//	                          type, varint length and bytes of its name
//	                other tags are passed over; strings are referred to by number
//	varint          number of DFs
//	3 columns       their numbers (never constant), names, lengths of identities
//	6 columns       elements 0 to 5 of the identities that have them (never constant), as
//	                far as any has
//	column          all further elements (never constant)
//
// An index block's payload is, for each block before it, its offset (64 bits) and its
// header. Without index and trailer, in a file whose writer was killed, headers are
// followed from one to the next.
//
// # Compatibility
//
// Numbers of kinds and types never change their meaning. A kind may get further fields
// at its end (before a list); readers give them their defaults where a file lacks them
// and leave off those they do not know. What cannot be read like that gets another
// version in the file header.
package trace
