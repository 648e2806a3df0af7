// Package tracefile knows the bytes of a trace's files: headers, blocks, the index, and what is damaged. It
// knows nothing of events: package trace writes and reads what is in the blocks.
//
// # Files
//
// A trace is a folder: run.json and a file per node, NNNNN.wst. Integers are
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
// kind: 1 definitions, 2 data, 3 index; others are for later versions and are passed over. codec: 0 stored,
// 1 zstd (one frame, maybe followed by skippable ones). flags of a data block: 1 holds an onProgramStarted,
// 2 an onProgramFinished, 4 an onClockSync. stream: of a data block. count: events, definitions or index
// entries. base is the time of the first event, first and last the least and the greatest time. number
// counts the blocks of a stream from 0, and definition blocks likewise, so that a gap tells what is lost.
// defs is the number of definition blocks that come before the block: a data block uses nothing that is not
// defined in them.
//
// A reader may refuse blocks of over 16 MiB unpacked, or over 4 KiB + 64 times their
// packed length, so that a small file cannot make it allocate much. For the same reason it may refuse blocks
// that define over 1 Mi DFs, the elements of their identities included.
package tracefile
