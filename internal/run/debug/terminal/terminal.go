// Package terminal lets people debug with typed commands, or with those of a file.
package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/run/debug"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/words"
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
		{"step s", "[CF | [node [N]] [worker [W]]]", "let one CF go on to its end: the one named, or the next, of" +
			" this or another node or worker", true, (*session).step},
		{"until u", "BREAKPOINT | TIME | wait", "go on up to this breakpoint, this time after the start (1.5ms)," +
			" or the next wait for a DF, or another stop", true, func(s *session, a string) error {
			return s.d.Until(a)
		}},
		{"break b", "BREAKPOINT", "stop at CODE, LABEL[3][*], FILE:LINE, or at" +
			" made|requested|sent|received|dropped DF[4]; then: node N, hit N, log TEXT, if CONDITION", false,
			(*session).setBreak},
		{"clear", "[N]", "remove a breakpoint, or all", false, (*session).clear},
		{"breaks", "", "list the breakpoints, holds, and what is to be first or moved", false, (*session).breaks},
		{"hold", "CODE|LABEL[3][*]", "keep these CFs, whatever else goes on", false, func(s *session,
			a string) error {
			return s.d.Hold(a)
		}},
		{"release", "CODE|LABEL[3][*]", "end that hold", false, func(s *session, a string) error {
			return s.d.Release(a)
		}},
		{"first", "CODE|LABEL[3][*]", "have this CF run before all that have not started", false, func(s *session,
			a string) error {
			return s.d.First(a)
		}},
		{"move", "CF|CODE|LABEL[3][*] NODE", "have CFs that have not started run at another node", false,
			(*session).move},
		{"cfs", "[STATE]", "list CFs: kept, running, waiting, queued", false, (*session).cfs},
		{"inputs i", "[CF]", "what a CF that is kept or waits gets", false, (*session).inputs},
		{"print p", "EXPRESSION", "a value of the CF where the program stopped: u[4], i + 1, doubles(u[4])[0]",
			false, (*session).print},
		{"dfs", "[NAME]", "list DFs: their values, who made them, who waits for them", false, (*session).dfs},
		{"array", "DF TYPE", "show raw data: as double, int[100], double[100][100]", false, (*session).array},
		{"picture", "DF TYPE [FILE.png]", "a picture of such an array, in characters or as a file", false,
			(*session).picture},
		{"diff", "DF DF [TYPE]", "how two DFs differ", false, (*session).diff},
		{"set", "DF VALUE", "change a DF for all that request it from now on", false, (*session).set},
		{"input", "DF VALUE", "change an input of the CF where the program stopped, for it alone", false,
			(*session).setInput},
		{"where w", "[CF]", "the CF where the program stopped, what it waits for, and those that created it", false,
			(*session).where},
		{"gdb", "[CF] [COMMAND; COMMAND...]", "attach gdb to a kept CF at the beginning of its C++ function", true,
			(*session).gdb},
		{"quit q", "", "end the run; its trace is kept", true, func(s *session, _ string) error {
			s.quit()
			return nil
		}},
		{"help h", "", "this list", false, (*session).help},
	}
}

// Session is a conversation. Serve it in a goroutine of its own.
type Session struct {
	Debugger *debug.Debugger
	In       io.Reader // the commands
	Out      io.Writer // what they print
	// File is the name of the file that In reads: its first wrong line ends the run. "": people type, and may
	// err.
	File   string
	Before []string // commands of --gdb, which come before those of In; a wrong one ends the run, too
	Prompt bool
	Quit   func() // ends the run

	lines  *bufio.Scanner
	number int // of the line
	wrong  atomic.Pointer[error]
}

// Wrong is what was wrong with a command of a file, nil for nothing.
func (s *Session) Wrong() error {
	if err := s.wrong.Load(); err != nil {
		return *err
	}
	return nil
}

// session is what commands have to do with.
type session struct {
	d    *debug.Debugger
	out  io.Writer
	quit func()
	at   debug.Stop
}

// Serve obeys commands until the run is over. When there are no more, breakpoints and holds are removed and
// the program goes on.
func (x *Session) Serve() {
	s := &session{d: x.Debugger, out: x.Out, quit: x.Quit}
	for _, line := range s.d.Restored() {
		fmt.Fprintln(s.out, line)
	}
	x.lines = bufio.NewScanner(x.In)
	for stop := range s.d.Stops() {
		if stop.Reason == debug.Ended {
			return
		}
		s.at = stop
		fmt.Fprintf(s.out, "stopped (%s): %s\n", stop.Reason, stop.Text)
		if stop.Reason == debug.Stuck && x.Prompt {
			fmt.Fprintln(s.out, "w shows the first CF that waits, i what it has")
		}
		for {
			line, where, ok := x.next()
			if !ok {
				if err := s.d.LetGo(); err != nil && !errors.Is(err, debug.ErrEnded) {
					fmt.Fprintln(s.out, err)
				}
				break
			}
			goes, err := s.obey(line)
			switch {
			case errors.Is(err, debug.ErrEnded):
				return
			case err != nil && where != "":
				err = fmt.Errorf("%s: %w", where, err)
				x.wrong.Store(&err)
				s.quit()
				return
			case err != nil:
				fmt.Fprintln(s.out, err)
				continue
			case !goes:
				continue
			}
			break
		}
	}
}

// next reads a command, and says where it stands; "": people type it.
func (x *Session) next() (line, where string, ok bool) {
	if len(x.Before) > 0 {
		line, x.Before = x.Before[0], x.Before[1:]
		return line, "--gdb", true
	}
	if x.Prompt {
		fmt.Fprint(x.Out, "(debug) ")
	}
	if !x.lines.Scan() {
		return "", "", false
	}
	if x.number++; x.File != "" {
		where = fmt.Sprintf("%s:%d", x.File, x.number)
	}
	return strings.TrimSpace(x.lines.Text()), where, true
}

// Obey obeys one command about a CF, 0 for none, and gives what it prints. known is false where there is no
// such command.
func Obey(d *debug.Debugger, cf trace.CF, line string, quit func()) (text string, known bool, err error) {
	name, _, _ := strings.Cut(line, " ")
	known = slices.ContainsFunc(commands, func(c command) bool {
		return slices.Contains(strings.Fields(c.names), name)
	})
	if !known {
		return "", false, nil
	}
	var out strings.Builder
	s := &session{d: d, out: &out, quit: quit, at: debug.Stop{CF: cf}}
	_, err = s.obey(line)
	return out.String(), true, err
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
	if name == "" || name == "." {
		if s.at.CF == 0 {
			return 0, errors.New("the program did not stop at a CF: name one, or list them with cfs")
		}
		return s.at.CF, nil
	}
	list, err := s.d.CFs(mostCFs)
	if err != nil {
		return 0, err
	}
	for _, c := range list {
		if c.CF.String() == name ||
			c.Name == name && (c.State == engine.StateKept || c.State == engine.StateWaiting) {
			return c.CF, nil
		}
	}
	return 0, fmt.Errorf("%s: no such CF is kept or waits", name)
}

// mostCFs is how many CFs are listed.
const mostCFs = 1000

func (s *session) step(arg string) error {
	args := strings.Fields(arg)
	if len(args) > 0 && (args[0] == "node" || args[0] == "worker") {
		node, worker := -1, engine.AnyWorker
		for len(args) > 0 {
			what := args[0]
			args = args[1:]
			var n int
			switch what {
			case "node":
				n = s.at.Node
			case "worker":
				n, node = s.at.Worker, max(node, s.at.Node)
			default:
				return fmt.Errorf("%s: step takes a CF, node N or worker W", arg)
			}
			if len(args) > 0 && strings.Trim(args[0], "0123456789") == "" {
				n, _ = strconv.Atoi(args[0]) // one that is too large does not exist
				args = args[1:]
			}
			if what == "node" {
				node = n
			} else {
				worker = n
			}
		}
		return s.d.Step(0, node, worker)
	}
	cf := s.at.CF
	if arg != "" {
		var err error
		if cf, err = s.find(arg); err != nil {
			return err
		}
	}
	err := s.d.Step(cf, -1, engine.AnyWorker)
	if errors.Is(err, debug.ErrNothing) && arg == "" {
		err = s.d.Step(0, -1, engine.AnyWorker)
	}
	return err
}

func (s *session) move(arg string) error {
	args := strings.Fields(arg)
	if len(args) != 2 {
		return errors.New("move takes a CF, and the number of a node")
	}
	node, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("%s is not a node number", args[1])
	}
	list, err := s.d.CFs(mostCFs)
	if err != nil {
		return err
	}
	kept := slices.IndexFunc(list, func(c engine.CFState) bool {
		return c.State == engine.StateKept && (c.CF.String() == args[0] || c.Name == args[0])
	})
	if kept >= 0 {
		err = s.d.Move(list[kept].CF, "", node)
	} else {
		err = s.d.Move(0, args[0], node)
	}
	if err != nil && !errors.Is(err, debug.ErrEnded) {
		err = fmt.Errorf("move %s: %w", arg, err)
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
		fmt.Fprintf(s.out, "%d: %s (reached %s)\n", p.ID, p.Text, words.Count(p.Hits(), "time"))
	}
	if err != nil {
		return err
	}
	rules, err := s.d.Rules()
	for _, line := range rules {
		fmt.Fprintln(s.out, line)
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
