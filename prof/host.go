package prof

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// RunFacts describe the run to modules.
type RunFacts struct {
	Program        string // name of its file
	Args           []string
	Nodes, Workers int // nodes of this process and the workers of each
	Node           int // number of the first of them
	Processes      int // of the run; those that are not this one have modules of their own. 0 is 1
	PID            int
	Host           string
	Started        time.Time
	StartNS        int64     // Now at that moment
	Out            io.Writer // the terminal; nil: standard error
	// Asked is closed when the user asks the run to end; nil: never. A module that starts or finishes has
	// Patience left then.
	Asked <-chan struct{}
}

// Patience is how long a module may still take to start or to finish when the user has asked the run to end.
const Patience = 2 * time.Second

// ErrLeft is in the error about a module that did not return within Patience. It may still be running.
var ErrLeft = errors.New("the run did not wait for it")

// Host is what a module has from the session it runs in.
type Host struct {
	use   Use
	order int
	run   *ModuleRun
	left  bool // it did not return: nothing of it is touched any more
}

// ModuleRun is the modules that run in a session.
type ModuleRun struct {
	ses     *Session
	facts   RunFacts
	hosts   []*Host
	modules []Module
	outputs []*Output
	dfs     bool // somebody asks for the names of DFs
	ended   bool // the modules finish or have finished

	balancer     Balancer // the one that moves work; nil: none
	balancerName string
}

// StartModules makes the modules and starts them, those that others require first, then by priority. If one
// fails, those started before are finished, what they write goes nowhere, and the error names it.
func (s *Session) StartModules(uses []Use, facts RunFacts) (*ModuleRun, error) {
	sorted, err := order(uses)
	if err != nil {
		return nil, err
	}
	if facts.Out == nil {
		facts.Out = os.Stderr
	}
	r := &ModuleRun{ses: s, facts: facts}
	for i, u := range sorted {
		h := &Host{use: u, order: i, run: r}
		m := u.Info.New()
		r.hosts, r.modules = append(r.hosts, h), append(r.modules, m)
		if err := h.step("start", func() error { return r.begin(m, h) }); err != nil {
			s.Disconnect(u.Info.Name)
			r.hosts, r.modules = r.hosts[:i], r.modules[:i] // it is not finished
			for _, o := range r.outputs {
				_ = o.host.unlessLeft("writing", func() error { o.abandon(); return nil }) // why is known
			}
			return nil, errors.Join(err, r.Finish())
		}
	}
	for _, o := range r.outputs {
		o.begin()
	}
	return r, nil
}

// begin starts a module, unless it is a second balancer.
func (r *ModuleRun) begin(m Module, h *Host) error {
	if b, ok := m.(Balancer); ok {
		if r.balancer != nil {
			return fmt.Errorf("%s moves work already: switch one of them off", r.balancerName)
		}
		r.balancer, r.balancerName = b, h.Name()
	}
	return m.Start(h)
}

// Balancer returns the module that moves work between nodes, nil if none does.
func (r *ModuleRun) Balancer() Balancer {
	if r == nil {
		return nil
	}
	return r.balancer
}

// guard runs a step of a module and reports an error or a panic with the module's name.
func guard(name string, f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("module %s: failed: %v", name, cause)
		}
	}()
	if err := f(); err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	return nil
}

// step is guard for a step that may not return: once the user has asked the run to end, it has Patience left.
func (h *Host) step(what string, f func() error) error {
	if h.run.facts.Asked == nil {
		return guard(h.Name(), f)
	}
	done := make(chan error, 1)
	go func() { done <- guard(h.Name(), f) }()
	select {
	case err := <-done:
		return err
	case <-h.run.facts.Asked:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(Patience):
		h.left = true
		return fmt.Errorf("module %s: has not returned from its %s: %w", h.Name(), what, ErrLeft)
	}
}

// unlessLeft is step for a module that has returned from every step before.
func (h *Host) unlessLeft(what string, f func() error) error {
	if h.left {
		return nil
	}
	return h.step(what, f)
}

// Get returns the module of that name, nil if it does not run.
func (r *ModuleRun) Get(name string) Module {
	for i, h := range r.hosts {
		if h.use.Info.Name == name {
			return r.modules[i]
		}
	}
	return nil
}

// Names returns the modules in the order in which they handle events.
func (r *ModuleRun) Names() []string {
	var names []string
	for _, h := range r.hosts {
		names = append(names, h.use.Info.Name)
	}
	return names
}

// WantsDFs reports whether a module called Host.WantDFs: then the identities of DFs are kept.
func (r *ModuleRun) WantsDFs() bool { return r != nil && r.dfs }

// Finish lets all modules write their results, closes their files and disconnects their handlers. No stream
// may be in use. One that fails does not keep the others from finishing. Finishing again does nothing.
func (r *ModuleRun) Finish() error {
	if r.ended {
		return nil
	}
	r.ended = true
	var errs []error
	for _, o := range r.outputs {
		errs = append(errs, o.host.unlessLeft("writing", func() error { o.finishing(); return nil }))
	}
	for i, m := range r.modules {
		errs = append(errs, r.hosts[i].unlessLeft("finish", m.Finish))
	}
	for _, o := range r.outputs {
		errs = append(errs, o.host.unlessLeft("writing", o.close))
	}
	for _, h := range r.hosts {
		r.ses.Disconnect(h.Name())
	}
	return errors.Join(errs...)
}

// Name is the module's, to be given to its handlers.
func (h *Host) Name() string { return h.use.Info.Name }

// Priority is what the module's handlers are to be connected with: its place in the order of modules.
func (h *Host) Priority() int { return h.order }

// Session is the session the module runs in.
func (h *Host) Session() *Session { return h.run.ses }

// Describe tells what numbers in events stand for.
func (h *Host) Describe() Describer { return h.run.ses.Describe() }

// WantDFs says, during Start, that the module will ask for the names of DFs. To keep them costs the run
// some time and memory for each DF; without it Describe may not know them.
func (h *Host) WantDFs() { h.run.dfs = true }

// Run tells about the run.
func (h *Host) Run() RunFacts { return h.run.facts }

// Get returns a module that runs in this session, nil if there is none of that name.
// Those that the module requires are there, and started, when it is started.
func (h *Host) Get(name string) Module { return h.run.Get(name) }

// Fail disconnects all of the module's handlers and tells the user why, once: for
// errors met while handling events.
func (h *Host) Fail(err error) {
	if h.run.ses.Disconnect(h.Name()) > 0 {
		h.run.ses.tell(fmt.Sprintf("module %s failed and is disconnected: %v", h.Name(), err))
	}
}

// Warn tells the user something in a line of text.
func (h *Host) Warn(message string) { h.run.ses.tell(message) }

// Connect adds a handler to an event of any kind, with the module's name and priority. Typed
// handlers are connected to the event objects of Session themselves.
func (h *Host) Connect(ns, name string, f func(s *Stream, a *Any)) error {
	return h.run.ses.ConnectAny(ns, name, h.Name(), h.order, f)
}

// ConnectMatching is Session.ConnectMatching with the module's name and priority.
func (h *Host) ConnectMatching(patterns []string, f func(s *Stream, a *Any)) error {
	return h.run.ses.ConnectMatching(patterns, h.Name(), h.order, f)
}

// param is the configured value of a parameter. Asking for one that the module's
// info does not have is a fault of the module.
func param[T any](h *Host, name string) T {
	v, ok := h.use.Params[name]
	if !ok {
		p := h.use.Info.Param(name)
		if p == nil {
			panic("no parameter " + name)
		}
		v = p.Default
	}
	t, ok := v.(T)
	if !ok {
		panic(fmt.Sprintf("parameter %s is %T", name, v))
	}
	return t
}

// String returns a parameter of type string.
func (h *Host) String(name string) string { return param[string](h, name) }

// Int returns a parameter of type int.
func (h *Host) Int(name string) int { return param[int](h, name) }

// Float returns a parameter of type float64.
func (h *Host) Float(name string) float64 { return param[float64](h, name) }

// Bool returns a parameter of type bool.
func (h *Host) Bool(name string) bool { return param[bool](h, name) }

// Strings returns a parameter of type []string.
func (h *Host) Strings(name string) []string { return param[[]string](h, name) }
