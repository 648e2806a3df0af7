package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
)

// intervalOptions say which part of a run is reported; none: all of it.
type intervalOptions struct {
	since, until, iteration string
}

func (o *intervalOptions) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.since, "since", "", "report what comes after this `time` only: since the start of the run,"+
		" such as 1.5ms, as part of it, 25%, or the start of a CF, 'cf step[3]'")
	f.StringVar(&o.until, "until", "", "report what comes before this `time` only, or before the end of a CF")
	f.StringVar(&o.iteration, "iteration", "", "report only the time from the first start to the last end of"+
		" the CFs with this `label`, such as step[3], and of what they created")
}

func (o *intervalOptions) check(verb string) error {
	if o.iteration != "" && (o.since != "" || o.until != "") {
		return console.Misuse("%s: give either --iteration or --since and --until", verb)
	}
	return nil
}

// within finds the interval in a run, nil if none was asked for. All members of g call it with the same
// options. An error that is console.Misuse is the same at all of them.
func (o *intervalOptions) within(m *model.Model, g procs.Group) (*slou.Interval, error) {
	v := &slou.Interval{ToNS: m.Wall()}
	var err error
	switch {
	case o.iteration != "":
		var cfs model.Interval
		if cfs, err = named(m, "iteration", o.iteration, o.iteration, g); err == nil {
			v.FromNS, v.ToNS = cfs.From-m.Start, cfs.To-m.Start
		}
	case o.since == "" && o.until == "":
		return nil, nil
	default:
		if o.since != "" {
			v.FromNS, err = timeOf(m, "since", o.since, g)
		}
		if o.until != "" && err == nil {
			v.ToNS, err = timeOf(m, "until", o.until, g)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case v.FromNS > m.Wall():
		return nil, console.Misuse("report: --since=%s: the run took %s", o.since,
			words.English.Duration(m.Wall()))
	case v.FromNS >= v.ToNS:
		return nil, console.Misuse("report: the interval from %s to %s is empty",
			words.English.Duration(v.FromNS), words.English.Duration(v.ToNS))
	}
	v.ToNS = min(v.ToNS, m.Wall())
	return v, nil
}

// timeOf reads an end of an interval, in nanoseconds since the start of the run.
func timeOf(m *model.Model, flag, s string, g procs.Group) (int64, error) {
	if name, ok := strings.CutPrefix(s, "cf "); ok {
		v, err := named(m, flag, s, name, g)
		if flag == "since" {
			v.To = v.From
		}
		return v.To - m.Start, err
	}
	if percent, ok := strings.CutSuffix(s, "%"); ok {
		if x, err := strconv.ParseFloat(strings.TrimSpace(percent), 64); err == nil && x >= 0 && x <= 100 {
			return int64(x / 100 * float64(m.Wall())), nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return int64(d), nil
	}
	return 0, console.Misuse("report: --%s=%s: give a time such as 1.5ms, a part of the run such as 25%%, or a"+
		" CF such as 'cf step[3]'", flag, s)
}

// named gives the time of the CFs with a label.
func named(m *model.Model, flag, value, name string, g procs.Group) (model.Interval, error) {
	v, ok, err := m.SpanOf(name, g)
	if err == nil && !ok {
		err = console.Misuse("report: --%s=%s: no CF with that label or of that code fragment ran; "+
			"only labels, as in cf step[i]: f(x), have indices", flag, value)
	}
	return v, err
}
