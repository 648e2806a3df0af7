package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// asked starts a verb that serves the page, asks about every run that it shows, the last part of the address
// being question, and ends it as Ctrl+C does. out has a line for each run: program, status, answer.
func asked(cmd *exec.Cmd, question string) (out, stderr string, err error) {
	cmd.Args = append(cmd.Args, "--insecure", "--listen", "127.0.0.1:0")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", "", err
	}
	if err := cmd.Start(); err != nil {
		return "", "", err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt) // Wait tells
		if endErr := cmd.Wait(); err == nil {
			err = endErr
		}
		stderr = errs.String()
	}()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return "", "", err
	}
	get := func(path string) (status string, body []byte, err error) {
		answer, err := http.Get(strings.TrimSpace(url) + "api/runs" + path)
		if err != nil {
			return "", nil, err
		}
		defer answer.Body.Close()
		body, err = io.ReadAll(answer.Body)
		return answer.Status, body, err
	}
	var runs []struct{ ID, Program string }
	_, body, err := get("")
	if err == nil {
		err = json.Unmarshal(body, &runs)
	}
	for i := 0; i < len(runs) && err == nil; i++ {
		var status string
		status, body, err = get("/" + runs[i].ID + question)
		out += fmt.Sprintf("%s %s %s\n", runs[i].Program, status, body)
	}
	return out, "", err
}

// asks QUESTION COMMAND...: the command serves the page. Its answers about every run go to standard output.
func asks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: asks QUESTION COMMAND...")
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), os.Environ()
	out, stderr, err := asked(cmd, args[0])
	fmt.Fprint(ts.Stdout(), out)
	fmt.Fprint(ts.Stderr(), stderr)
	ts.Check(err)
}
