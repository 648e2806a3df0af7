// Package collect receives what the senders of package stream send. It keeps each run as an ordinary trace in
// a folder, which can be followed as it grows.
//
// # Problem and plan
//
// Many programs on many machines send at once, some for days, over networks that break; some who connect mean
// no good. What has arrived must stay, and nobody may disturb anybody else.
//
//	              ┌ conn ─ hello ─► run ─ open ─► node ─ block ───────► Appender ─► TRACE/00000.wst
//	GET /stream ──┤                  │                                              TRACE/run.json
//	              └ conn ...         └ senders ─ info, end ─► merge ──────────────► TRACE/collect.json
//
// A goroutine per connection deals with one frame after the other: it reads, writes to the disk,
// acknowledges. TCP alone holds up senders that are faster than the disk; no queue can overflow because there
// is none.
//
// A hello only gives a run a name. Its folder is made with its first block, or the end of a node without any.
// Of a run without a folder nothing remains when its senders are gone. A run that nobody has sent for a
// minute rests: what its senders said is in collect.json only.
//
// The state that matters is on disk. Which blocks are there is read from the files, so a collector that was
// killed tells every sender where to go on. What senders said of the run is in collect.json; run.json is made
// of it (merge.go). Folders without a collect.json are not written to: they hold traces of other programs.
//
// A block is acknowledged when it was written, not when the disk has it for certain. After a power failure
// the sender finds the collector behind what it had acknowledged, and goes back.
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
//	run, or all, too large       refused; all files count, and each address has its share
//	long or many hellos          refused once they take the memory there is, or their address's share of it
//	a block that leaves some out refused, unless the node's first sender has said that they are lost
//	thousands of senders of a run run.json is written for all who wait, in a tenth of the time
//	a folder removed or replaced its senders are cut off, once, and send all of it again
//	a hello that was held up     refused if its sender has come back meanwhile
//	killed sender                its nodes stay as those of a killed run, and can go on
//
// # Locks
//
// Collector.mu, then run.mu, then nothing; node.mu is held while a file is written, and
// alone. Callbacks are called with none held.
package collect
