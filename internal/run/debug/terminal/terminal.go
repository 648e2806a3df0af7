// Package terminal lets people debug with typed commands, or with those of a file.
package terminal

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/debug"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/trace"
)

// command is one of the commands.
type command struct {
	names string // the first is shown
	args  string
	help  string
	goes  bool // the program goes on
	run   func(s *session, arg string) error
}

var commands []command

func init() {
	commands = []command{
		{"continue c", "", "go on up to the next stop", true, func(s *session, _ string) error {
			return s.d.Continue()
		}},
		{"step s", "[CF]", "let one CF go on to its end: the one named, or the next", true, (*session).step},
		{"until u", "BREAKPOINT", "go on up to this breakpoint, or another stop", true, func(s *session,
			a string) error {
			return s.d.Until(a)
		}},
		{"break b", "BREAKPOINT", "stop at CODE, LABEL[3][*], FILE:LINE, or at made|requested|sent|received|dropped" +
			" DF[4]; then: node N, hit N, log TEXT, if CONDITION", false, (*session).setBreak},
		{"clear", "[N]", "remove a breakpoint, or all", false, (*session).clear},
		{"breaks", "", "list the breakpoints", false, (*session).breaks},
		{"hold", "CODE|LABEL[3][*]", "keep these CFs, whatever else goes on", false, func(s *session,
			a string) error {
			return s.d.Hold(a)
		}},
		{"release", "CODE|LABEL[3][*]", "end that hold", false, func(s *session, a string) error {
			return s.d.Release(a)
		}},
		{"cfs", "[STATE]", "list CFs: kept, running, waiting, queued", false, (*session).cfs},
		{"inputs i", "[CF]", "what a kept CF gets", false, (*session).inputs},
		{"print p", "EXPRESSION", "a value of the CF where the program stopped: u[4], i + 1, doubles(u[4])[0]", false,
			(*session).print},
		{"dfs", "[NAME]", "list DFs: their values, who made them, who waits for them", false, (*session).dfs},
		{"array", "DF TYPE", "show raw data: as double, int[100], double[100][100]", false, (*session).array},
		{"set", "DF VALUE", "change a DF for all that request it from now on", false, (*session).set},
		{"input", "DF VALUE", "change an input of the CF where the program stopped, for it alone", false,
			(*session).setInput},
		{"where w", "", "the CF where the program stopped, and those that created it", false, (*session).where},
		{"quit q", "", "end the run; its trace is kept", true, func(s *session, _ string) error {
			s.quit()
			return nil
		}},
		{"help h", "", "this list", false, (*session).help},
	}
}

// session is a conversation.
type session struct {
	d    *debug.Debugger
	out  io.Writer
	quit func()
	at   trace.CF // where the program stopped
}

// Serve obeys the commands that it reads until the run is over. When there are no more, breakpoints and holds are
// removed and the program goes on. quit ends the run.
func Serve(d *debug.Debugger, in io.Reader, out io.Writer, prompt bool, quit func()) {
	s := &session{d: d, out: out, quit: quit}
	lines := bufio.NewScanner(in)
	for stop := range d.Stops() {
		if stop.Reason == debug.Ended {
			return
		}
		s.at = stop.CF
		fmt.Fprintf(out, "stopped (%s): %s\n", stop.Reason, stop.Text)
		for {
			if prompt {
				fmt.Fprint(out, "(debug) ")
			}
			if !lines.Scan() {
				s.letGo()
				break
			}
			goes, err := s.obey(strings.TrimSpace(lines.Text()))
			if errors.Is(err, debug.ErrEnded) {
				return
			}
			if err != nil {
				fmt.Fprintln(out, err)
			} else if goes {
				break
			}
		}
	}
}

// Obey obeys one command about a CF, 0 for none, and gives what it prints. known is false where there is no such
// command.
func Obey(d *debug.Debugger, cf trace.CF, line string, quit func()) (text string, known bool, err error) {
	name, _, _ := strings.Cut(line, " ")
	known = slices.ContainsFunc(commands, func(c command) bool { return slices.Contains(strings.Fields(c.names), name) })
	if !known {
		return "", false, nil
	}
	var out strings.Builder
	s := &session{d: d, out: &out, quit: quit, at: cf}
	_, err = s.obey(line)
	return out.String(), true, err
}

// letGo ends all debugging.
func (s *session) letGo() {
	err := s.d.Clear(0)
	err = cmp.Or(err, s.d.ReleaseAll())
	if err = cmp.Or(err, s.d.Continue()); err != nil && !errors.Is(err, debug.ErrEnded) {
		fmt.Fprintln(s.out, err)
	}
}

// obey obeys a line, and reports whether the program goes on.
func (s *session) obey(line string) (goes bool, err error) {
	name, arg, _ := strings.Cut(line, " ")
	if name == "" || strings.HasPrefix(name, "#") {
		return false, nil
	}
	for _, c := range commands {
		for _, n := range strings.Fields(c.names) {
			if n == name {
				return c.goes, c.run(s, strings.TrimSpace(arg))
			}
		}
	}
	return false, fmt.Errorf("%s: no such command; help lists them", name)
}

func (s *session) help(string) error {
	for _, c := range commands {
		name, short, _ := strings.Cut(c.names, " ")
		if short != "" {
			short = " (" + short + ")"
		}
		fmt.Fprintf(s.out, "%-34s %s\n", strings.TrimSpace(name+short+" "+c.args), c.help)
	}
	return nil
}

// find gives the CF that is named by its id, as 0.17, or its name; "" is the one where the program stopped.
func (s *session) find(name string) (trace.CF, error) {
	if name == "" {
		if s.at == 0 {
			return 0, errors.New("the program did not stop at a CF: name one, or list them with cfs")
		}
		return s.at, nil
	}
	list, err := s.d.CFs(mostCFs)
	if err != nil {
		return 0, err
	}
	for _, c := range list {
		if c.CF.String() == name || c.Name == name && c.State == engine.StateKept {
			return c.CF, nil
		}
	}
	return 0, fmt.Errorf("%s: no such CF is kept", name)
}

// mostCFs is how many CFs are listed.
const mostCFs = 1000

func (s *session) step(name string) error {
	cf := s.at
	if name != "" {
		var err error
		if cf, err = s.find(name); err != nil {
			return err
		}
	}
	err := s.d.Step(cf, -1, engine.AnyWorker)
	if errors.Is(err, debug.ErrNothing) && name == "" {
		err = s.d.Step(0, -1, engine.AnyWorker)
	}
	return err
}

func (s *session) setBreak(text string) error {
	id, err := s.d.Break(text)
	if err == nil {
		fmt.Fprintf(s.out, "breakpoint %d: %s\n", id, text)
	}
	return err
}

func (s *session) clear(text string) error {
	if text == "" {
		return s.d.Clear(0)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf("%s: breakpoints have numbers from 1", text)
	}
	return s.d.Clear(n)
}

func (s *session) breaks(string) error {
	list, err := s.d.Points()
	for _, p := range list {
		fmt.Fprintf(s.out, "%d: %s (reached %d times)\n", p.ID, p.Text, p.Hits())
	}
	return err
}

func (s *session) cfs(state string) error {
	list, err := s.d.CFs(mostCFs)
	if err != nil {
		return err
	}
	for _, c := range list {
		if state != "" && c.State != state {
			continue
		}
		where := fmt.Sprintf("node %d", c.Node)
		if c.Worker >= 0 {
			where += fmt.Sprintf(" worker %d", c.Worker)
		}
		fmt.Fprintf(s.out, "%-8s %-8v %s on %s", c.State, c.CF, c.Name, where)
		if len(c.Awaits) > 0 {
			fmt.Fprintf(s.out, ", waits for %s", strings.Join(c.Awaits, ", "))
		}
		fmt.Fprintln(s.out)
	}
	return nil
}

func (s *session) inputs(name string) error {
	cf, err := s.find(name)
	if err != nil {
		return err
	}
	return s.d.Look(cf, func(x *engine.Execution) {
		for _, v := range x.Inputs() {
			fmt.Fprintf(s.out, "%s = %s\n", v.Name, debug.Text(v.Value))
		}
		for _, v := range x.Scalars() {
			fmt.Fprintf(s.out, "%s = %s\n", v.Name, debug.Text(v.Value))
		}
	})
}

func (s *session) print(text string) error {
	cf, err := s.find("")
	if err != nil {
		return err
	}
	return s.d.Look(cf, func(x *engine.Execution) { fmt.Fprintln(s.out, debug.Evaluate(x, text)) })
}

func (s *session) dfs(name string) error {
	shown := 0
	err := s.d.DFs(name, func(f *engine.DFState) bool {
		fmt.Fprintf(s.out, "%s on node %d: ", f.Name, f.Node)
		switch {
		case f.Keeper >= 0:
			fmt.Fprintf(s.out, "kept at node %d", f.Keeper)
		case f.Stored:
			fmt.Fprintf(s.out, "%s", debug.Text(f.Value))
		default:
			fmt.Fprintf(s.out, "not made yet")
		}
		if f.MadeBy != "" {
			fmt.Fprintf(s.out, ", made by %s", f.MadeBy)
		}
		if f.Left > 0 {
			fmt.Fprintf(s.out, ", for %d more requests", f.Left)
		}
		if len(f.Waiting) > 0 {
			fmt.Fprintf(s.out, ", awaited by %s", strings.Join(f.Waiting, ", "))
		}
		fmt.Fprintln(s.out)
		shown++
		return shown < mostCFs
	})
	if shown == 0 && name != "" {
		err = cmp.Or(err, fmt.Errorf("%s: no node stores it or waits for it", name))
	}
	return err
}

func (s *session) array(arg string) error {
	name, typ, _ := strings.Cut(arg, " ")
	err := error(fmt.Errorf("%s: no node stores it", name))
	failed := s.d.DFs(name, func(f *engine.DFState) bool {
		if !f.Stored {
			return true
		}
		var text string
		if text, err = debug.As(f.Value, typ); err == nil {
			fmt.Fprintf(s.out, "%s: %s\n", f.Name, text)
		}
		return err == nil
	})
	return cmp.Or(failed, err)
}

func (s *session) set(arg string) error {
	name, value, _ := strings.Cut(arg, " ")
	return s.d.SetDF(name, value)
}

func (s *session) setInput(arg string) error {
	cf, err := s.find("")
	if err != nil {
		return err
	}
	name, value, _ := strings.Cut(arg, " ")
	return s.d.SetInput(cf, name, value)
}

func (s *session) where(string) error {
	cf, err := s.find("")
	if err != nil {
		return err
	}
	var parent trace.CF
	err = s.d.Look(cf, func(x *engine.Execution) {
		fmt.Fprintf(s.out, "%v %s (%s:%d)\n", x.CF, x.Name(), x.Stmt.Pos.File, x.Stmt.Pos.Line)
		parent = x.Parent()
	})
	if err != nil {
		return err
	}
	above, err := s.d.Above(parent)
	for _, f := range above {
		fmt.Fprintf(s.out, "  in %s (%s:%d)\n", f.Name, f.Stmt.Pos.File, f.Stmt.Pos.Line)
	}
	return err
}
