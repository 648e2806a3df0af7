// Package collect receives what the senders of package stream send and keeps it: each run
// as an ordinary trace in a folder, which whoever shows it follows as it grows.
//
// # Problem and plan
//
// Many programs on many machines send at once, some for days, over networks that break;
// some who connect mean no good. What has arrived must stay, whoever goes away, and
// nobody may disturb anybody else.
//
//	              ┌ conn ─ hello ─► run ─ open ─► node ─ block ─► trace.Appender ─► TRACE/00000.wst
//	GET /stream ──┤                  │                                              TRACE/run.json
//	              └ conn ...         └ senders ─ info, end ─► merge ──────────────► TRACE/collect.json
//
// A goroutine per connection does everything that the connection asks for, one frame after
// the other: reads, writes to the disk, acknowledges. A sender that sends faster than the
// disk takes is held up by TCP alone; no queue can overflow because there is none.
//
// The state that matters is on disk. Which blocks are there is read from the files (an
// Appender goes on after the last whole block), so a collector that was killed tells every
// sender where to go on. What the senders said of the run is in collect.json beside the
// trace; run.json is made of it (merge.go). Only a folder with a collect.json is written to
// again, so that a trace that a program on the same machine writes itself is left alone.
//
// A block is acknowledged when it was written, not when the disk has it for certain: after
// a power failure the sender finds the collector behind what it had acknowledged, and goes
// back.
//
// # What may go wrong
//
//	who                          what is done
//	garbage, wrong token         refused by the HTTP server or ServeHTTP; nothing is kept
//	frame too long, no frame     refused; at most as much was allocated as had arrived
//	silent, slower than 16 KiB/s cut off after Limits.Idle; the node can be opened again
//	half-open                    the same, or when its sender comes back
//	node opened twice            the newer goes on, the older is told and cut off
//	disk full                    the run is marked, its senders try again later
//	run, or all, too large       refused
//	killed sender                its nodes stay as those of a killed run, and can go on
//
// # Locks
//
// Collector.mu, then run.mu, then nothing; node.mu is held while a file is written, and
// alone. Callbacks are called with none held.
package collect
