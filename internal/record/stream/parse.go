package stream

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// FormatVersion is the version of the trace's format that is sent: of blocks and run.json.
const FormatVersion = 1

// Hello is the first frame of a sender.
type Hello struct {
	Format int    `json:"format"` // FormatVersion of the sender
	Run    string `json:"run"`    // RunInfo.ID: 32 hex digits
	// Sender names who sends: the same after it was started again. At most 256 bytes.
	Sender  string         `json:"sender"`
	Version string         `json:"version,omitempty"` // of whyslow, to be shown
	Info    *trace.RunInfo `json:"info"`
}

// Welcome is the answer to a Hello.
type Welcome struct {
	Collector string        `json:"collector"` // host it runs on
	Folder    string        `json:"folder"`    // name of the folder of the trace there
	Idle      time.Duration `json:"idle"`      // ns; silence of so long ends the connection
	MaxFrame  int           `json:"max_frame"` // longest body of a frame it takes, bytes
}

// Codes of a Refusal.
const (
	RefusedVersion = "version" // another version of the trace's format
	RefusedHello   = "hello"   // the bad hello
	RefusedFrame   = "frame"   // a frame is not in order
	RefusedTaken   = "taken"   // another connection sends the node now
	RefusedLimit   = "limit"   // more than the collector is set to take
	RefusedDisk    = "disk"    // the collector cannot write
	RefusedClosing = "closing" // the collector ends
	RefusedIdle    = "idle"    // nothing came for too long
	refusedToken   = "token"   // 401
	refusedHTTP    = "http"    // another answer that is none of a collector
	refusedTLS     = "tls"     // the certificate is not accepted
	refusedBusy    = "busy"    // 503
)

// Refusal says why a collector takes no more from a connection. Final: asking again is of no use.
type Refusal struct {
	Code  string `json:"code"`
	Text  string `json:"text"` // one line: what, where, what to do
	Final bool   `json:"final"`
}

func (r *Refusal) Error() string { return r.Text }

// maxName is the length of Hello.Sender.
const maxName = 256

// ValidRun reports whether id is the ID of a run: 32 lower-case hex digits.
func ValidRun(id string) bool {
	if len(id) != 32 {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// ParseHello reads and checks the body of a hello frame. What is wrong is a Refusal.
func ParseHello(b []byte) (*Hello, error) {
	refuse := func(code, format string, args ...any) (*Hello, error) {
		return nil, &Refusal{Code: code, Text: fmt.Sprintf(format, args...), Final: true}
	}
	// A newer sender may mean something else by the rest: its version is looked at first.
	var v struct{ Format int }
	if err := json.Unmarshal(b, &v); err != nil {
		return refuse(RefusedHello, "bad hello: %v", err)
	}
	if v.Format != FormatVersion {
		older := "this collector"
		if v.Format < FormatVersion {
			older = "the sender"
		}
		return refuse(RefusedVersion, "traces of version %d are sent, this collector keeps version %d: use"+
			" a newer whyslow for %s", v.Format, FormatVersion, older)
	}
	h := new(Hello)
	if err := json.Unmarshal(b, h); err != nil {
		return refuse(RefusedHello, "bad hello: %v", err)
	}
	switch {
	case !ValidRun(h.Run):
		return refuse(RefusedHello, "bad hello: a run is named by 32 hex digits")
	case h.Sender == "" || len(h.Sender) > maxName:
		return refuse(RefusedHello, "bad hello: a sender's name has 1 to %d bytes", maxName)
	case h.Info == nil:
		return refuse(RefusedHello, "bad hello: it lacks what run.json says")
	}
	if err := CheckInfo(h.Info); err != nil {
		return refuse(RefusedHello, "bad hello: %v", err)
	}
	return h, nil
}

// ParseInfo reads and checks the body of an info frame.
func ParseInfo(b []byte) (*trace.RunInfo, error) {
	info := new(trace.RunInfo)
	if err := json.Unmarshal(b, info); err != nil {
		return nil, protocolError("run.json: %v", err)
	}
	return info, CheckInfo(info)
}

// CheckInfo reports what in a run.json from elsewhere cannot be.
func CheckInfo(info *trace.RunInfo) error {
	for what, n := range map[string]int{"nodes": len(info.Nodes), "processes": len(info.Processes),
		"hosts": len(info.Hosts), "events that are off": len(info.Off), "arguments": len(info.Args),
		"words in its command line": len(info.CommandLine), "versions": len(info.Versions),
		"settings": len(info.Settings)} {
		if n > trace.MaxNode+1 {
			return protocolError("run.json has %d %s, %d are allowed", n, what, trace.MaxNode+1)
		}
	}
	for _, n := range info.Nodes {
		if n.Node < 0 || n.Node > trace.MaxNode || n.Workers < 0 || n.Workers > math.MaxInt32 {
			return protocolError("run.json has a node %d of %d workers", n.Node, n.Workers)
		}
	}
	switch info.Ended {
	case "", trace.EndedDone, trace.EndedFailed, trace.EndedStuck, trace.EndedInterrupted:
		return nil
	}
	return protocolError("run.json says that the run ended %q", info.Ended)
}

// ParseWelcome reads and checks the body of a welcome frame.
func ParseWelcome(b []byte) (*Welcome, error) {
	w := new(Welcome)
	if err := json.Unmarshal(b, w); err != nil {
		return nil, protocolError("welcome: %v", err)
	}
	if w.Idle < 10*time.Millisecond || w.MaxFrame < MinMaxFrame {
		return nil, protocolError("welcome with an idle time of %v and frames of %d bytes", w.Idle, w.MaxFrame)
	}
	w.Collector, w.Folder = oneLine(w.Collector), oneLine(w.Folder)
	return w, nil
}

// ParseRefusal reads the body of a refuse frame.
func ParseRefusal(b []byte) (*Refusal, error) {
	r := new(Refusal)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, protocolError("refusal: %v", err)
	}
	r.Text = oneLine(r.Text)
	return r, nil
}

// oneLine makes text from elsewhere fit to be shown on a terminal.
func oneLine(s string) string {
	const most = 500
	out := make([]rune, 0, len(s))
	for _, c := range s {
		if len(out) == most {
			return string(out) + "..."
		}
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			c = ' '
		}
		out = append(out, c)
	}
	return string(out)
}

// ParseNode reads the body of an open or close frame.
func ParseNode(b []byte) (int, error) {
	if len(b) != 4 {
		return 0, protocolError("a node of %d bytes", len(b))
	}
	n := binary.LittleEndian.Uint32(b)
	if n > trace.MaxNode {
		return 0, protocolError("node %d", n)
	}
	return int(n), nil
}

// ParseBlock reads the body of a block frame; block is not looked into.
func ParseBlock(b []byte) (node int, block []byte, err error) {
	if len(b) < 4 {
		return 0, nil, protocolError("a block frame of %d bytes", len(b))
	}
	node, err = ParseNode(b[:4])
	return node, b[4:], err
}

// ParseNumber reads the body of an ack or ping frame.
func ParseNumber(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, protocolError("a number of %d bytes", len(b))
	}
	return binary.LittleEndian.Uint64(b), nil
}

// ParseLost reads the body of a lost frame.
func ParseLost(b []byte) (Lost, error) {
	if len(b) != 20 {
		return Lost{}, protocolError("a lost frame of %d bytes", len(b))
	}
	node, err := ParseNode(b[:4])
	return Lost{node, binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint64(b[12:])}, err
}

// ParseHave reads the body of a have frame.
func ParseHave(b []byte) (node int, h tracefile.Have, err error) {
	if len(b) < 8 || len(b)%8 != 0 {
		return 0, h, protocolError("a have frame of %d bytes", len(b))
	}
	if node, err = ParseNode(b[:4]); err != nil {
		return 0, h, err
	}
	h = tracefile.Have{Defs: binary.LittleEndian.Uint32(b[4:]), Streams: make(map[int]uint32, len(b)/8-1)}
	for b = b[8:]; len(b) > 0; b = b[8:] {
		h.Streams[int(binary.LittleEndian.Uint32(b))] = binary.LittleEndian.Uint32(b[4:])
	}
	return node, h, nil
}
