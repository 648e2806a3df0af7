// Package counters follows quantities of a run over time: bytes and data fragments held, computational
// fragments by state, what is under way on the links and how much was sent, for the whole run, for each node
// and for each link.
//
// # One definition, several uses
//
// Each quantity stands once in the table of quantities.go: its names, its unit, what it is in words. What
// happens to a CF, a DF, a message or a queue is a change, and changes.go says once what each kind of change
// does to the quantities. The changes of a model are found in one way (sources.go) and put in order of time
// (record.go). Two readers follow them:
//
//	Compute     the report: windows of equal length, peaks and sums, by one process or by several
//	Properties  the page: step functions that answer questions about any interval
//
// Sums are for runs that are too long for one model: they take changes from events, without order.
//
// # Levels and amounts
//
// A level is a step function: it has a value at every moment, such as the bytes a node holds. Its value at t
// is that after all changes at or before t, so what happens at one nanosecond counts together. An amount is
// what happened in a stretch of time, such as the bytes sent; it has a sum.
//
// The report cuts the run into windows of equal length (the last may be shorter). A level has its mean,
// least, greatest and last value in each window, an amount its sum and its rate. Peaks, ends and totals are
// exact whatever the windows: no step is sampled away. Window i holds the times from i*WindowNS up to but not
// including (i+1)*WindowNS, the last one also the end of the run. What is recorded before the start of the
// run, or after its end, counts as at the start or the end.
//
// At every moment cfs = cfs_waiting + cfs_ready + cfs_running + cfs_moving; a CF under way is on no node.
//
// A series that the recorded events do not allow to compute is left out and named in Missing; one that does
// not occur in the program at all (a Go program has no DFs) is only left out.
package counters

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// Names of the series.
const (
	BytesHeld        = "bytes_held"
	CopiesHeld       = "copies_held"
	DFs              = "dfs"
	CFs              = "cfs"
	CFsWaiting       = "cfs_waiting"
	CFsReady         = "cfs_ready"
	CFsRunning       = "cfs_running"
	CFsMoving        = "cfs_moving"
	MessagesInFlight = "messages_in_flight"
	BytesInFlight    = "bytes_in_flight"
	MessagesSent     = "messages_sent"
	BytesSent        = "bytes_sent"
	CFsMoved         = "cfs_moved"
	ReadyQueue       = "ready_queue"
	SendQueue        = "send_queue"
)

// order is that in which series are listed.
var order = []string{BytesHeld, CopiesHeld, DFs, CFs, CFsWaiting, CFsReady, CFsRunning, CFsMoving,
	MessagesInFlight, BytesInFlight, MessagesSent, BytesSent, CFsMoved, ReadyQueue, SendQueue}

// Options of Compute; the zero value means the defaults.
type Options struct {
	// Windows is the number of windows asked for, 0 means 200. There are fewer where the run has fewer
	// nanoseconds.
	Windows int
	// Holders is the number of DF names listed for each peak of memory, 0 means 10, negative all.
	Holders int
	// Links is the number of links that get series of their own, those with most bytes first; 0 means 64,
	// negative all. The matrix and the totals have every link.
	Links int
	// Only names the series wanted; empty means all. The matrix and the peaks of memory come with their
	// series.
	Only []string
	// Parallel is how many things are computed at once; 0 means as many as there are cores.
	Parallel int
}

// Result holds the series of a run. Times are nanoseconds since the start of the run.
type Result struct {
	WallNS   int64    `json:"wall_ns"`
	WindowNS int64    `json:"window_ns"` // length of a window; the last may be shorter
	Windows  int      `json:"windows"`
	Series   []Series `json:"series"`
	// Memory tells when most bytes were held, and of what; nil where bytes_held is not there.
	Memory *Memory `json:"memory"`
	// Links is the communication matrix, from x to; links without traffic are left out. nil where not asked
	// for.
	Links []Link `json:"links"`
	// Messages sums up the matrix; nil where there is none.
	Messages *Traffic  `json:"messages"`
	Missing  []Missing `json:"missing"`
}

// Series is one quantity of the run, of a node or of a link over time.
type Series struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // "bytes" or "count"
	Node int    `json:"node"` // -1: not of one node
	Link string `json:"link"` // "0->1", "" not of one link
	// Mean is the mean level of each window; of an amount, its rate per second.
	Mean []float64 `json:"mean"`
	// Min, Max and Last are the level's least, greatest and last value in each window; nil for an amount.
	Min  []int64 `json:"min,omitempty"`
	Max  []int64 `json:"max,omitempty"`
	Last []int64 `json:"last,omitempty"`
	// Sum is the amount of each window; nil for a level.
	Sum []int64 `json:"sum,omitempty"`
	// Peak is the greatest value of a level at any moment, or the greatest amount of a window; PeakNS is when
	// it was first reached, or when that window begins.
	Peak   int64 `json:"peak"`
	PeakNS int64 `json:"peak_ns"`
	// End is the level at the end of the run, or the whole amount.
	End int64 `json:"end"`
}

// Total tells whether the series is of the whole run.
func (s *Series) Total() bool { return s.Node < 0 && s.Link == "" }

// Memory tells about the bytes held by copies of DFs.
type Memory struct {
	Total Peak   `json:"total"`
	Nodes []Peak `json:"nodes"` // of nodes that held something, by node
	// Unsized counts copies of DFs whose creation, which tells the size, was not recorded: they count as 0
	// bytes.
	Unsized int64 `json:"unsized"`
	// Unmatched counts copies dropped that were never stored: that was lost, and they are left out.
	Unmatched int64 `json:"unmatched"`
}

// Peak is the moment at which most bytes were held, the first of several.
type Peak struct {
	Node    int      `json:"node"` // -1: all
	NS      int64    `json:"ns"`
	Bytes   int64    `json:"bytes"`
	Copies  int64    `json:"copies"`
	Holders []Holder `json:"holders"` // by bytes, most first
	// Others is what names beyond those listed held.
	Others Holder `json:"others"`
	// EndBytes is what was still held when the run ended.
	EndBytes int64 `json:"end_bytes"`
}

// Holder is what the DFs of one name held at a moment.
type Holder struct {
	DF     string `json:"df"` // name without indices
	Bytes  int64  `json:"bytes"`
	Copies int64  `json:"copies"`
}

// Link is the traffic from one node to another.
type Link struct {
	From int `json:"from"`
	To   int `json:"to"`
	Traffic
}

// Traffic sums up messages. Flight times are sums over the messages of which both ends were recorded, in
// order.
type Traffic struct {
	DFs             int64 `json:"dfs"`
	DFBytes         int64 `json:"df_bytes"`
	DFFlightNS      int64 `json:"df_flight_ns"`
	CFs             int64 `json:"cfs"` // migrated and stolen
	Stolen          int64 `json:"stolen"`
	CFBytes         int64 `json:"cf_bytes"`
	CFFlightNS      int64 `json:"cf_flight_ns"`
	Requests        int64 `json:"requests"`
	RequestFlightNS int64 `json:"request_flight_ns"`
	MaxFlightNS     int64 `json:"max_flight_ns"` // longest of any DF, CF or request
	Half            int64 `json:"half"`          // messages and requests of which one end was not recorded
	Violations      int64 `json:"violations"`    // those received before they were sent: clocks disagree
}

// Missing names an event that was not recorded and the series it is needed for.
type Missing struct {
	Event  string   `json:"event"`
	Series []string `json:"series"`
}

const (
	defaultWindows = 200
	maxWindows     = 1 << 20
	maxCells       = 1 << 23 // windows of all series together, if more than defaultWindows are asked for
	defaultHolders = 10
	defaultLinks   = 64
)

// computation is a Compute in progress.
type computation struct {
	m       *model.Model
	opt     Options
	ctx     context.Context
	group   procs.Group
	grid    grid
	unknown [quantities]bool // series that cannot be computed
	res     *Result
	mu      sync.Mutex
}

// Compute follows the quantities of a run. It fails when ctx ends or an option is out of range.
//
// Several processes, each with its model from model.BuildShare, do it together: all members of the group call
// it with the same options. The process of rank 0 gets the result, which is that of one process with the
// whole trace; the others get nil. A group of nil is this process alone.
func Compute(ctx context.Context, m *model.Model, opt Options, group procs.Group) (*Result, error) {
	if group == nil {
		group = procs.Alone()
	}
	c := &computation{m: m, opt: opt, ctx: ctx, group: group}
	if err := c.settle(); err != nil {
		return nil, err // the same everywhere
	}
	tasks := []func() error{c.cfs, c.copies, c.messages, c.dfs, c.readyQueues, c.sendQueues}
	limit := c.opt.Parallel
	if group.Size() > 1 {
		limit = 1 // processes exchange in the same order
	}
	err := procs.Each(ctx, limit, len(tasks), func(_, i int) error { return tasks[i]() })
	if err != nil || group.Rank() != 0 {
		return nil, err
	}
	slices.SortStableFunc(c.res.Series, func(a, b Series) int {
		return slices.Index(order, a.Name) - slices.Index(order, b.Name)
	})
	return c.res, nil
}

// settle checks the options, and prepares the result.
func (c *computation) settle() error {
	m, opt := c.m, &c.opt
	switch {
	case opt.Windows < 0 || opt.Windows > maxWindows:
		return fmt.Errorf("series: %d windows asked for; give 1 to %d, or 0 for %d", opt.Windows, maxWindows,
			defaultWindows)
	case opt.Windows == 0:
		opt.Windows = defaultWindows
	}
	if opt.Holders == 0 {
		opt.Holders = defaultHolders
	}
	if opt.Links == 0 {
		opt.Links = defaultLinks
	}
	for _, name := range opt.Only {
		if !slices.Contains(order, name) {
			return fmt.Errorf("series: there is no series %q; choose one of: %v", name, order)
		}
	}
	names := len(order)
	if len(opt.Only) > 0 {
		names = len(opt.Only)
	}
	nodes := len(m.Nodes)
	links := nodes * (nodes - 1)
	if opt.Links >= 0 {
		links = min(links, opt.Links)
	}
	most := max(maxCells/max(names*(1+nodes+links), 1), defaultWindows)
	if opt.Windows > most && m.Wall() > int64(most) {
		return fmt.Errorf("%d windows of %d nodes are too many; use at most %d", opt.Windows, nodes, most)
	}
	c.grid = newGrid(m.Start, m.End, opt.Windows)
	c.res = &Result{WallNS: m.Wall(), WindowNS: c.grid.width, Windows: c.grid.n, Series: []Series{}}
	c.findMissing()
	return nil
}

// asked tells whether a series is asked for.
func (c *computation) asked(name string) bool {
	return len(c.opt.Only) == 0 || slices.Contains(c.opt.Only, name)
}

// wants tells whether any of some quantities is asked for and can be computed.
func (c *computation) wants(list ...quantity) bool {
	return slices.ContainsFunc(list, func(q quantity) bool {
		return !c.unknown[q] && c.asked(propertyOf(q).report)
	})
}

// Find gives a series of a result: of the whole run with node -1 and link "", nil where there is none.
func (r *Result) Find(name string, node int, link string) *Series {
	for i := range r.Series {
		if s := &r.Series[i]; s.Name == name && s.Node == node && s.Link == link {
			return s
		}
	}
	return nil
}
