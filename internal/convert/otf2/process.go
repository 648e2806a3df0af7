package otf2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

var (
	hasOTF2 bool
	serve   func(anchor string) // reads an archive and ends the process
)

// HasOTF2 tells whether libotf2 is built in.
func HasOTF2() bool { return hasOTF2 }

// ErrWithout says what to do where libotf2 is not built in.
var ErrWithout = errors.New("OTF2 archives are read and written with libotf2, which is not built in:" +
	" install libotf2-trace-dev and build whyslow with 'make otf2' (go build -tags otf2)")

// verb is the argument with which whyslow starts itself.
const verb = "otf2-records"

// Serve reads an archive if this process was started for it by Open. Then it does not return.
func Serve(argv []string) {
	if len(argv) == 3 && argv[0] == "whyslow" && argv[1] == verb && serve != nil {
		serve(argv[2])
	}
}

// archive is what a process reads of one.
type archive struct {
	io.Reader
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// Open has an archive read, given its anchor file: what it returns are records, see Reader. Close ends that.
// The end of the file is an error, unless the process has read the archive to its end.
func Open(ctx context.Context, anchor string) (io.ReadCloser, error) {
	if !hasOTF2 {
		return nil, ErrWithout
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &archive{cmd: exec.CommandContext(ctx, self)}
	a.cmd.Args = []string{"whyslow", verb, anchor}
	a.cmd.Stderr = &a.stderr
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.Reader = out
	return a, a.cmd.Start()
}

// Close implements io.Closer. Its error says how the process ended where that was not by itself.
func (a *archive) Close() error {
	const rest = 1 << 16 // at most, after what was the last record
	if n, _ := io.CopyN(io.Discard, a.Reader, rest); n == rest {
		_ = a.cmd.Process.Kill() // nobody wants to know
		_ = a.cmd.Wait()
		return nil
	}
	err := a.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("libotf2 could not read the archive: %w", exit)
	}
	if exit.ExitCode() > 1 { // a Go or C run-time system has ended it
		said, _, _ := strings.Cut(strings.TrimSpace(a.stderr.String()), "\n")
		return fmt.Errorf("libotf2 could not read the archive: %w: %s", exit, said)
	}
	return nil
}
