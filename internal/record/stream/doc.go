// Package stream sends a trace to a collector while it is written: the protocol, the Sender, and the Sources
// that a Sender takes blocks from. Package collect is the other end.
//
// # Problem and plan
//
// A program is watched from elsewhere. It must never wait, and the watcher must get the trace itself. So a
// stream carries the blocks of the trace's files as they are. The collector appends them to a folder that is
// a trace like any other. The format numbers blocks: those of each stream of a node from 0, definitions
// likewise. These numbers are all the two ends must agree on. After any break the collector says per node
// which number comes next, and the sender goes on there: nothing is lost, nothing comes twice.
//
// # Connecting
//
// A stream is an HTTP request on the page's port, so the HTTP server does listening, TLS and header limits:
//
//	GET /stream HTTP/1.1                    HTTP/1.1 101 Switching Protocols
//	Connection: Upgrade              ──►    Connection: Upgrade
//	Upgrade: whyslow-stream/1        ◄──    Upgrade: whyslow-stream/1
//	Authorization: Bearer TOKEN
//
// Other answers: 401 wrong token, 426 another protocol version, 503 too many streams (ask later), each with a
// line of text. After 101 both sides send frames.
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
//	 7 lost     missing since the start     node u32, blocks u64, events u64
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
// Only the connection that opened a node last may send its blocks; the one before is refused. The newer one
// is the program started again, or the sender after a connection that died unnoticed.
//
// A block follows the one before it. Blocks may be missing between them only if a lost frame has said so
// before, and only from the sender that opened the node first. Otherwise anybody who knows the run could send
// a block with a high number, and those before it, which come later, would be taken for sent.
//
// Each side hangs up after Welcome.Idle of silence. A sender pings every quarter of that, and every ping is
// acknowledged, so neither sits on a half-open connection.
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
// A Folder, a growing trace on disk, waits while the window is full: the disk is the queue, so memory is
// bounded and nothing is dropped. A Queue holds blocks that are nowhere else; when full it drops the oldest
// data blocks and counts them. Whatever a collector does, the window and the queue do not grow beyond their
// sizes, and no answer of more than 64 KiB is read.
//
// After a break the window is sent again, without what the collector says it has. If it has less than it
// acknowledged (it lost its disk), a Folder is read again from the start.
//
// Lag is the age of the newest moment until which everything recorded is known to be at the collector.
//
// # Deliberately not done
//
// No compression (blocks are compressed), no sums (blocks and TLS have them), no parts of blocks, no
// priorities: a node's blocks keep the order of its file, definitions before their use.
package stream
