package gasptest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// Every event of both tables, with its arguments, as it is in the trace.
func TestEvery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ build, table, told string }{
		{"plain", "bupc", "auto"}, {"plain", "gupc", "auto"}, {"shared", "bupc", "bupc"}, {"shared", "gupc",
			"gupc"}, {"asan", "bupc", "bupc"}, {"asan", "gupc", "auto"}, {"tsan", "gupc", "auto"},
	} {
		t.Run(c.build+"-"+c.table, func(t *testing.T) {
			t.Parallel()
			res := run(t, compile(t, "every", c.build), []string{"WHYSLOW_INSTRUMENT=functions",
				"WHYSLOW_GASP_TABLE=" + c.told}, c.table)
			res.ok(t, 4, "")
			r := open(t, res.trace)
			golden(t, "every-"+c.table+".txt", text(t, r, 1))
			info := r.Run()
			if info.Settings["gasp_table"] != c.table || info.Settings["instrument"] != "functions" ||
				info.Ended != trace.EndedDone || len(info.Nodes) != 3 || info.Nodes[2].Host == "" {
				t.Errorf("%+v", info)
			}
		})
	}
}

// The checklist: nothing in the table of events is left out by every.c.
func TestEveryIsComplete(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"bupc", "gupc"} {
		res := run(t, compile(t, "every", "plain"), []string{"WHYSLOW_INSTRUMENT=functions"}, table, "exit")
		res.ok(t, 4, "")
		got := text(t, open(t, res.trace), 1)
		for _, e := range eventNames(t, table) {
			if !strings.Contains(got, e) {
				t.Errorf("%s: nothing of %q", table, e)
			}
		}
		if !strings.HasSuffix(got,
			"upc_global_exit every.upc:"+
				got[strings.LastIndexByte(strings.TrimSpace(strings.TrimSuffix(got, "onProgramFinished\n")), ':')+1:]) {
			t.Errorf("%s: the events go on after upc_global_exit:\n%s", table, got[len(got)-200:])
		}
	}
}

// Where locks were allocated is told, by each thread that was.
func TestLocksAllocated(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"bupc", "gupc"} {
		res := run(t, compile(t, "every", "plain"), nil, table)
		res.ok(t, 4, "")
		defs := open(t, res.trace).Defs(1)
		var got []string
		defs.EachSite(func(s trace.SiteDef) {
			if label := defs.Name(s.Label); label != "" {
				code, _ := defs.Code(s.Code)
				got = append(got, fmt.Sprintf("%s %s: %s", defs.Name(code.Name), code.Kind,
					regexp.MustCompile("0x[0-9a-f]+").ReplaceAllString(label, "ID")))
				if s.Line == 0 || defs.Name(s.File) != "every.upc" {
					t.Errorf("%s: the place is %s:%d", label, defs.Name(s.File), s.Line)
				}
			}
		})
		if want := []string{"upc_global_lock_alloc memory: lock ID call 1 thread 1",
			"upc_all_lock_alloc memory: lock ID call 1"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", table, got, want)
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	const (
		sync = 1 << iota
		calls
		local
		functions
	)
	for level, name := range []string{"sync", "calls", "local", "functions"} {
		res := run(t, compile(t, "every", "plain"), []string{"WHYSLOW_INSTRUMENT=" + name}, "bupc")
		res.ok(t, 4, "")
		got := text(t, open(t, res.trace), 1)
		for _, c := range []struct {
			from int
			what string
		}{
			{sync, "upc_all_alloc"}, {sync, "upc_lock "}, {sync, "broadcast"}, {sync, "upc_notify"}, {sync,
				"User.onMy_mark_"}, {sync, "phase every.upc:1\n"},
			{calls, "upc_memget"}, {calls, "shared read every.upc:38"}, {calls, "onGet from=1 bytes=8"}, {calls,
				"onCompleted"},
			{local, "shared read every.upc:39"}, {functions, "main every.upc"},
		} {
			if want := c.from <= 1<<level; strings.Contains(got, strings.TrimPrefix(c.what, "User.")) != want {
				t.Errorf("level %s: %q is there: %v", name, c.what, !want)
			}
		}
	}
}
