package config

import (
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// groupTable has the standard groups. An event goes into the first with a pattern for it, so that switching
// off one group has an effect; others go into a group named after their namespace.
var groupTable = []struct {
	name, doc string
	patterns  []string
}{
	{"Memory", "When data fragments come into being and go: how much memory they take.",
		[]string{"DFEvents.onCreate", "DFEvents.onStored", "DFEvents.onDropped", "DFEvents.onDestroy",
			"DFEvents.onDuplicate"}},
	{"Communication", "What goes from node to node.",
		[]string{"DFEvents.onRequest*", "DFEvents.onSent", "DFEvents.onReceived", "CFEvents.onMigrated",
			"CFEvents.onStolen", "CFEvents.onReceived", "GlobalEvents.onSendQueue"}},
	{"CFEvents", "The life of computational fragments on their node.", []string{"CFEvents.*"}},
	{"ForeignBlocks", "Calls of user code: how long they take.", []string{"GlobalEvents.onForeign*"}},
	{"Lifecycle", "Blocks of functions: where each starts and how it ends.",
		[]string{"GlobalEvents.onStarted", "GlobalEvents.onExited", "GlobalEvents.onWaiting",
			"GlobalEvents.onMigrated", "GlobalEvents.onContinued"}},
	{"System", "The run-time system itself: start and end, idle workers, queues, clocks.",
		[]string{"GlobalEvents.*"}},
	{"Synchronization", "Waiting for locks, exclusive resources and collectives.", []string{"SyncEvents.*"}},
}

// groupOf is the standard group of a standard event.
func groupOf(k *trace.KindSpec) string {
	for _, g := range groupTable {
		if slices.ContainsFunc(g.patterns, func(p string) bool { return Match(p, k.String()) }) {
			return g.name
		}
	}
	return k.Namespace
}

// standardGroups are the groups of the default configuration: every standard event is in one.
func standardGroups() (list []Group) {
	add := func(name string) *Group {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
		list = append(list, Group{Name: name, Enabled: true})
		return &list[len(list)-1]
	}
	for _, g := range groupTable {
		add(g.name)
	}
	for _, k := range trace.Kinds() {
		g := add(groupOf(&k))
		g.Events = append(g.Events, Ref{Namespace: k.Namespace, Name: k.Name})
	}
	return list
}

func groupNames(list []Group) []string { return namesOf(list, func(g Group) string { return g.Name }) }
