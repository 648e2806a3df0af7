package sloutest

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// RandomRegions writes a run of up to three nodes with regions, right or wrong: unbalanced, with times that
// repeat, collectives that do not match, losses, some with CFs.
func RandomRegions(t *rapid.T) string {
	var b strings.Builder
	nodes := rapid.IntRange(1, 3).Draw(t, "nodes")
	cfs := rapid.IntRange(0, 4).Draw(t, "cfs") == 0
	for n := range nodes {
		fmt.Fprintf(&b, "#node %d\n#code 1 main function\n#code 2 barrier barrier\n#code 3 get bulk\n#code 4 "+
			"lock lock\n#code 5 work function\n#code 6 alloc memory\n#code 7 cf atomic\n", n)
		for s := 1; s <= 7; s++ {
			fmt.Fprintf(&b, "#site %d code=%d at=a.c:%d:0\n", s, s, s)
		}
		at := rapid.IntRange(0, 20).Draw(t, "start")
		event := func(format string, args ...any) {
			fmt.Fprintf(&b, "%d "+format+"\n", append([]any{at}, args...)...)
			at += rapid.IntRange(0, 9).Draw(t, "step")
		}
		if rapid.IntRange(0, 5).Draw(t, "begins") > 0 {
			event("Global.onProgramStarted")
		}
		if cfs {
			event("CF.onCreated cf=%d.1 site=7", n)
			event("CF.onStarted %d.1", n)
		}
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			switch site := rapid.IntRange(1, 6).Draw(t, "site"); rapid.IntRange(0, 7).Draw(t, "what") {
			case 0, 1, 2:
				event("Region.onEntered %d", site)
			case 3:
				event("Region.onExited %d", site)
			case 4:
				event("Sync.onCollective %s size=%d",
					rapid.SampledFrom([]string{"barrier", "broadcast", "alloc", "notify", "wait"}).Draw(t, "kind"), nodes)
			case 5:
				event("%s 1", rapid.SampledFrom([]string{"Sync.onAcquired", "Sync.onReleased"}).Draw(t, "lock"))
			case 6:
				event("Message.onGet from=%d bytes=8", rapid.IntRange(0, nodes-1).Draw(t, "from"))
			case 7:
				event("Region.onEntered 2")
				event("Sync.onCollective barrier size=%d", nodes)
				event("Region.onExited 2")
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "loses") == 0 {
			from := at
			at += 5
			event("Global.onLost count=2 first=%d last=%d stream=0", from, from+5)
		}
		if cfs {
			event("CF.onFinished %d.1", n)
		}
		if rapid.IntRange(0, 5).Draw(t, "ends") > 0 {
			event("Global.onProgramFinished")
		}
	}
	return b.String()
}

// OnHosts gives every node of a trace of regions, as text, a process and a clock of its own on one of some
// hosts, which may be off by more than it says.
func OnHosts(t *rapid.T, text string) string {
	run := ""
	for n := range strings.Count(text, "#node ") {
		run += fmt.Sprintf(`,{"node":%d,"process":%d,"workers":1,"host":"h%d"}`, n, n,
			rapid.IntRange(0, n).Draw(t, "host"))
		for i := range rapid.IntRange(0, 3).Draw(t, "syncs") {
			text += fmt.Sprintf("%d n%d s9 Global.onClockSync offset=%d error=3\n", 50*i, n,
				rapid.Int64Range(-60, 60).Draw(t, "offset"))
		}
	}
	return fmt.Sprintf("#run {\"nodes\":[%s]}\n", run[1:]) + text
}
