package terminal

// Commands that show and change what is there.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/debug"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
)

func (s *session) print(text string) error {
	cf, err := s.find("")
	if err != nil {
		return err
	}
	value, err := s.d.Evaluate(cf, text)
	if err == nil {
		fmt.Fprintln(s.out, value)
	}
	return err
}

func (s *session) dfs(name string) error {
	shown := 0
	err := s.d.DFs(name, func(f *debug.DFState) bool {
		fmt.Fprintf(s.out, "%s on node %d: ", f.Name, f.Node)
		switch {
		case f.Keeper >= 0:
			fmt.Fprintf(s.out, "kept at node %d", f.Keeper)
		case f.Stored:
			fmt.Fprintf(s.out, "%s", f.Shown.Text)
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
		if len(f.Next) > 0 {
			fmt.Fprintf(s.out, ", used next by %s", strings.Join(f.Next, ", "))
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
	return s.d.Value(name, func(v cpp.Value) error {
		text, err := debug.As(v, typ)
		if err == nil {
			fmt.Fprintf(s.out, "%s: %s\n", name, text)
		}
		return err
	})
}

func (s *session) picture(arg string) error {
	words := strings.Fields(arg)
	if len(words) < 2 || len(words) > 3 {
		return errors.New("picture takes a DF, a type such as double[100][100], and perhaps a file")
	}
	return s.d.Value(words[0], func(v cpp.Value) error {
		a, err := debug.ArrayOf(v, words[1])
		switch {
		case err != nil:
			return err
		case len(words) == 2:
			fmt.Fprintln(s.out, a.Picture())
			return nil
		}
		if err := files.Replace(words[2], a.PNG); err != nil {
			return err
		}
		fmt.Fprintln(s.out, words[2])
		return nil
	})
}

func (s *session) diff(arg string) error {
	words := strings.Fields(arg)
	if len(words) < 2 || len(words) > 3 {
		return errors.New("diff takes two DFs, and for raw data a type such as double[100][100]")
	}
	text, err := s.d.Difference(words[0], words[1], strings.Join(words[2:], ""))
	if err == nil {
		fmt.Fprintln(s.out, text)
	}
	return err
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

func (s *session) inputs(name string) error {
	cf, err := s.find(name)
	if err != nil {
		return err
	}
	x, err := s.d.Look(cf)
	if err != nil {
		return err
	}
	for _, v := range slices.Concat(x.Inputs, x.Scalars) {
		fmt.Fprintf(s.out, "%s = %s\n", v.Name, v.Text)
	}
	return nil
}

func (s *session) where(name string) error {
	cf, err := s.find(name)
	if err != nil {
		return err
	}
	list, err := s.d.CFs(mostCFs)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(c engine.CFState) bool { return c.CF == cf })
	if i < 0 {
		return fmt.Errorf("%v is not there any more", cf)
	}
	c := &list[i]
	fmt.Fprintf(s.out, "%v %s (%s:%d)\n", c.CF, c.Name, c.Stmt.Pos.File, c.Stmt.Pos.Line)
	if len(c.Awaits) > 0 {
		fmt.Fprintf(s.out, "  waits for %s\n", strings.Join(c.Awaits, ", "))
	}
	above, err := s.d.Above(c.Parent)
	for _, f := range above {
		fmt.Fprintf(s.out, "  in %s (%s:%d)\n", f.Name, f.Stmt.Pos.File, f.Stmt.Pos.Line)
	}
	return err
}

// gdb attaches gdb to a CF. With commands it obeys those, else what people type.
func (s *session) gdb(arg string) error {
	name, text, _ := strings.Cut(arg, " ")
	cf, err := s.find(name)
	if err != nil {
		return err
	}
	x, err := s.d.Look(cf)
	switch {
	case err != nil:
		return err
	case x.Stmt.Kind != luna.Atomic:
		return fmt.Errorf("%s has no C++ function", x.Name)
	case !x.Ready:
		return fmt.Errorf("%s has no inputs yet: until %s comes first", x.Name, x.Name)
	}
	printed, err := s.d.GDB(cf, text)
	fmt.Fprint(s.out, printed)
	return err
}
