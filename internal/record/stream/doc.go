// Package stream sends a trace to a collector while it is written: the protocol, the
// Sender, and the Sources that a Sender takes blocks from. Package collect is the other
// end.
//
// # Problem and plan
//
// A program is watched from elsewhere. It must never wait for the watcher, and what the
// watcher gets must be the trace itself. So a stream is the blocks of the trace's files as
// they are, sums included; the collector appends them to a folder that is a trace like any
// other, and whoever shows something reads that. Blocks are numbered in the format (each
// stream of a node from 0, definitions likewise). These numbers are the only state that
// the two ends must agree on: after any break the collector says per node which number
// comes next, and the sender goes on there. Nothing is lost, nothing comes twice.
//
// # Connecting
//
// A stream is an HTTP request on the port of the page, so listening, TLS and limits on
// headers are those of the HTTP server:
//
//	GET /stream HTTP/1.1                    HTTP/1.1 101 Switching Protocols
//	Connection: Upgrade              ──►    Connection: Upgrade
//	Upgrade: whyslow-stream/1        ◄──    Upgrade: whyslow-stream/1
//	Authorization: Bearer TOKEN
//
// Other answers: 401 wrong token, 426 another version of the protocol, 503 too many
// streams (ask later), each with one line of text. After 101 both sides send frames.
//
// # Frames
//
// Integers are little-endian, lengths in bytes.
//
//	 0        4     5
//	+--------+------+--------------+
//	| length | type | body         |    length: of the body
//	+--------+------+--------------+
//
//	sender to collector                     body
//	 1 hello    what is sent                JSON: Hello
//	 2 open     wants to send a node        node u32
//	 3 block    a block of its file         node u32, the block: header and payload
//	 4 info     run.json has changed        JSON: trace.RunInfo
//	 5 close    the node's file is whole    node u32
//	 6 end      all there is has been sent  -
//	 7 lost     dropped since the start     node u32, blocks u64, events u64
//	 8 ping     still here                  lag u64, nanoseconds
//	collector to sender
//	16 welcome  go on                       JSON: Welcome
//	17 have     what is there of a node     node u32, definition blocks u32,
//	                                        then for each stream: stream u32, next u32
//	18 ack      so much is on disk          u64: frames of types 3 to 6 so far
//	19 refuse   why not, then it hangs up   JSON: Refusal
//
// A conversation, S the sender, C the collector:
//
//	S hello, open 0, open 1    C welcome, have 0, have 1
//	S block 0, block 1, ping   C ack 2
//	...
//	S block 1, close 0, close 1, info, end     C ack 977       (S hangs up)
//
// Only the connection that opened a node last may send blocks of it; the one before is
// refused: the newer is the program started again, or the same sender after a connection
// that died without either side being told.
//
// Each side hangs up on the other after Welcome.Idle of silence. A sender pings every
// quarter of that and every ping is answered with an ack, so that neither sits on a
// half-open connection.
//
// # Sender
//
//	            101, welcome                     end acknowledged
//	connecting ─────────────► sending ─────────────────────────────► done
//	 │    ▲                      │
//	 │    │ 0.1 s, doubled to    │ broken, silent, refused for now (disk full,
//	 │    │ 15 s, times 0.5-1    │ too many streams, ...)
//	 │    └──── waiting ◄────────┤
//	 │             ▲             │ refused for good (token, version, node
//	 └─────────────┘             │ taken over, ...)
//	  cannot be reached          └────────────────────────────────────► failed
//
// Two goroutines do the work, neither of them the program's:
//
//	Source ──► window: blocks read, not acknowledged ──► connection
//	           (4 MiB; full: the source waits)      ◄── acks remove from its front
//
// A Folder is a trace on disk that grows. It waits while the window is full: the disk is
// the queue, so memory is bounded and nothing is ever dropped. A Queue holds blocks that
// are nowhere else; beyond its size it drops the oldest data blocks and counts them.
//
// After a break the window is sent again from its front, without what the collector says
// it has. If the collector has less than it acknowledged (it lost its disk), a Folder is
// read again from the start.
//
// Lag is the age of the newest moment of which everything recorded until then is known to
// be at the collector.
//
// # Deliberately not done
//
// No compression (blocks are compressed), no sums (blocks have them, TLS has them), no
// sending of parts of blocks, no priorities: the order of a node's file is kept, so that
// definitions come before what uses them.
package stream
