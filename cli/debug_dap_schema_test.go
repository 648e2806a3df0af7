package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// dapSchema is the published schema of the Debug Adapter Protocol, as the module of its codecs has it. Its
// definitions are compiled when they are asked for.
var dapSchema = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/go-dap").Output()
	if err != nil {
		return nil, fmt.Errorf("where is go-dap: %w", err)
	}
	file, err := os.Open(filepath.Join(strings.TrimSpace(string(dir)), "cmd", "gentypes", "debugProtocol.json"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	doc, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	return c, c.AddResource("dap.json", doc)
})

// conforms holds a message of an adapter against the schema's definition of its kind, whose name it gives.
func conforms(t *testing.T, message []byte) (kind string, _ error) {
	t.Helper()
	c, err := dapSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		return "", err
	}
	m, _ := doc.(map[string]any)
	text := func(field string) string {
		s, _ := m[field].(string)
		return s
	}
	switch name, success := text("command")+text("event"), m["success"]; {
	case text("type") == "response" && success == false:
		kind = "ErrorResponse"
	case name == "":
		return "", fmt.Errorf("neither a response nor an event: %s", message)
	case text("type") == "response":
		kind = strings.ToUpper(name[:1]) + name[1:] + "Response"
	default:
		kind = strings.ToUpper(name[:1]) + name[1:] + "Event"
	}
	s, err := c.Compile("dap.json#/definitions/" + kind)
	if err != nil {
		return kind, err
	}
	return kind, s.Validate(doc)
}

// TestProtocolSchema: the schema tells wrong messages from right ones.
func TestProtocolSchema(t *testing.T) {
	const (
		event  = `{"seq":1,"type":"event","event":`
		answer = `{"seq":1,"type":"response","request_seq":1,"success":`
	)
	for message, want := range map[string]string{
		event + `"stopped","body":{"reason":"step"}}`:                      "StoppedEvent",
		event + `"stopped","body":{}}`:                                     "",
		event + `"stopped","body":{"reason":"step","threadId":"1"}}`:       "",
		event + `"danced"}`:                                                "",
		`{"type":"event","event":"terminated"}`:                            "",
		answer + `true,"command":"next"}`:                                  "NextResponse",
		answer + `true,"command":"threads"}`:                               "",
		answer + `false,"command":"threads"}`:                              "",
		answer + `false,"command":"threads","body":{}}`:                    "ErrorResponse",
		answer + `true,"command":"threads","body":{"threads":[{"id":1}]}}`: "",
	} {
		if kind, err := conforms(t, []byte(message)); (err == nil) != (want != "") || want != "" && kind != want {
			t.Errorf("%s is a %s: %v", message, kind, err)
		}
	}
}
