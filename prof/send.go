package prof

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// collectorVariable is the environment variable that names the collector.
const collectorVariable = "WHYSLOW_TO"

// Sending is a trace on its way to a collector (whyslow serve).
type Sending struct {
	cmd   *exec.Cmd
	alive io.Closer // the sender goes on until this is closed, or the program has ended
}

// SendTo sends a trace, which the program goes on writing to the folder dir, to the collector at HOST:PORT.
// The program whyslow does that, as whyslow send: it must be found by PATH, or WHYSLOW_COMMAND is its path.
// WHYSLOW_TOKEN is the collector's token. What goes wrong is said on standard error; the program never waits.
// node is the node whose file is sent, -1: all of the folder's. In a run of many processes each sends its
// own; then they have the same WHYSLOW_RUN_ID, or share the folder.
func SendTo(address, dir string, node int) (*Sending, error) {
	command := cmp.Or(os.Getenv("WHYSLOW_COMMAND"), "whyslow")
	cmd := exec.Command(command, "send", "--quiet", "--until-eof", "--to", address, "--node",
		fmt.Sprint(node), dir)
	cmd.Stderr = os.Stderr
	detach(cmd)
	alive, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be started, so nothing is sent to %s: %w", command, address, err)
	}
	return &Sending{cmd: cmd, alive: alive}, nil
}

// Close is called when the trace is complete: it waits until all is sent, ten seconds at most. Its error says
// that something is not at the collector; the trace has it.
func (s *Sending) Close() error {
	_ = s.alive.Close() // the sender notices that, too
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("not all of the trace was sent: %w", err)
	}
	return nil
}

// send sends what is recorded to the collector that WHYSLOW_TO names.
func (r *Recording) send() {
	to := os.Getenv(collectorVariable)
	if to == "" {
		return
	}
	var err error
	if r.sending, err = SendTo(to, r.dir, -1); err != nil {
		fmt.Fprintln(os.Stderr, "whyslow:", err)
	}
}
