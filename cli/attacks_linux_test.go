package cli

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// attacker means no good to the collector at addr. It has the token, and an address of its own.
type attacker struct {
	addr, token string
	from        net.IP
	rnd         *rand.Rand
	dir         string   // where the collector keeps traces
	victim      string   // id of the run of somebody else
	blocks      [][]byte // of a small trace: definitions and events
	held        []net.Conn
	folders     []string // of its runs
}

// attacks are what attackers do. One that could not take place, since the collector is down, is an error.
var attacks = []struct {
	name string
	do   func(a *attacker) error
}{
	// Connections and HTTP.
	{"a connection, and nothing", func(a *attacker) error { return a.raw("") }},
	{"noise", func(a *attacker) error { return a.raw(string(a.noise(100_000))) }},
	{"half a request", func(a *attacker) error { return a.raw("GET /stream HT") }},
	{"endless headers", func(a *attacker) error {
		return a.raw("GET / HTTP/1.1\r\nHost: " + a.addr + "\r\n" + strings.Repeat("X-Long: y\r\n", 50_000))
	}},
	{"an endless body", func(a *attacker) error {
		return a.raw("POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 9223372036854775807\r\n\r\n" +
			strings.Repeat("x", 1<<20))
	}},
	{"HTTP/2", func(a *attacker) error { return a.raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") }},
	{"TLS", func(a *attacker) error { return a.raw("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03") }},
	{"requests in a row, no answer read", func(a *attacker) error {
		return a.raw(strings.Repeat("GET /api/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+a.token+
			"\r\n\r\n", 1000))
	}},
	{"another path", func(a *attacker) error {
		return a.raw("GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n")
	}},
	{"the wrong token", func(a *attacker) error {
		b := *a
		b.token = "wrong"
		if _, err := b.stream(); !strings.Contains(fmt.Sprint(err), "401") {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	}},

	// Hellos.
	{"an upgrade, and nothing", func(a *attacker) error { return a.leave() }},
	{"noise instead of a hello", func(a *attacker) error { return a.leave(a.noise(50_000)) }},
	{"100,000 hosts", func(a *attacker) error {
		return a.leave(a.hello(&trace.RunInfo{Hosts: make([]string, 100_000)}))
	}},
	{"a giant hello", func(a *attacker) error {
		info := &trace.RunInfo{Program: "giant.fa"}
		for i := range 60_000 {
			info.Hosts = append(info.Hosts, fmt.Sprint("host number ", i))
			if i < 10_000 {
				info.Nodes = append(info.Nodes, trace.NodeInfo{Node: i, Workers: math.MaxInt32})
				info.Processes = append(info.Processes, trace.ProcessInfo{PID: i, Cores: math.MaxInt})
			}
		}
		return a.leave(a.hello(info), stream.AppendNode(nil, stream.TypeOpen, 0))
	}},
	{"a deep hello", func(a *attacker) error {
		return a.leave(a.frame(stream.TypeHello, json.RawMessage(strings.Repeat(`{"info":`, 5000)+"1"+
			strings.Repeat("}", 5000))))
	}},
	{"empty hellos of new runs", func(a *attacker) error {
		for range 20 {
			if err := a.say(stream.TypeWelcome, a.hello(&trace.RunInfo{})); err != nil {
				return err
			}
		}
		return nil
	}},
	{"half a hello", func(a *attacker) error {
		b := a.hello(&trace.RunInfo{Hosts: make([]string, 1000)})
		return a.leave(b[:len(b)/2])
	}},
	{"sizes and clocks at the limits", func(a *attacker) error {
		pair := []trace.ClockPair{{Own: math.MinInt64, Monotonic: math.MaxInt64, Uncertainty: math.MinInt64},
			{Own: math.MaxInt64, Monotonic: math.MinInt64, Uncertainty: math.MaxInt64}}
		info := &trace.RunInfo{Program: "limits.fa", Exit: math.MinInt64, Started: time.Unix(0, math.MinInt64),
			Processes: []trace.ProcessInfo{{PID: math.MaxInt64, Cores: math.MinInt64, Monotonic: pair},
				{PID: math.MinInt64, Monotonic: pair}},
			Nodes: []trace.NodeInfo{{Node: trace.MaxNode, Workers: math.MaxInt32, Process: math.MaxInt64},
				{Workers: 1, Process: -1}, {Node: 1, Workers: 1, Process: 1}}}
		return a.sends(info, nil)
	}},
	{"names that lead elsewhere", func(a *attacker) error {
		return a.sends(&trace.RunInfo{Program: "../../\x1b[31m\u202e/..\\" + strings.Repeat("x", 10_000),
			Args: []string{"\x00\n\r"}, Hosts: []string{"<script>"}}, nil)
	}},

	// Frames.
	{"a frame that is too long", func(a *attacker) error {
		return a.leave(a.hello(&trace.RunInfo{}), []byte{255, 255, 255, 255, 3})
	}},
	{"a frame that claims much", func(a *attacker) error {
		return a.leave(a.hello(&trace.RunInfo{}), []byte{0, 0, 0, 1, 3}, a.noise(10))
	}},
	{"frames that nobody knows", func(a *attacker) error {
		return a.leave(a.hello(&trace.RunInfo{}), []byte{0, 0, 0, 0, 99},
			stream.AppendNumber(nil, stream.TypeAck, 1))
	}},
	{"frames cut at any byte", func(a *attacker) error {
		b := a.whole(&trace.RunInfo{Program: "cut.fa"}, nil)
		return a.leave(b[:a.rnd.IntN(len(b))])
	}},
	{"frames with a wrong byte", func(a *attacker) error {
		b := a.whole(&trace.RunInfo{Program: "wrong.fa"}, nil)
		b[a.rnd.IntN(len(b))] ^= byte(1 + a.rnd.IntN(255))
		return a.leave(b)
	}},
	{"acks that nobody reads", func(a *attacker) error {
		ping := stream.AppendNumber(nil, stream.TypePing, 1<<63)
		return a.leave(a.hello(&trace.RunInfo{}), bytes.Repeat(ping, 50_000))
	}},
	{"what there is of many nodes, not read", func(a *attacker) error {
		b := a.hello(&trace.RunInfo{})
		for node := range 4000 {
			b = stream.AppendNode(b, stream.TypeOpen, node)
		}
		return a.leave(b)
	}},
	{"ends and infos again and again", func(a *attacker) error {
		b := a.whole(&trace.RunInfo{Program: "ends.fa"}, nil)
		for range 20 {
			b = stream.AppendNode(b, stream.TypeClose, 0)
			b = append(b, a.frame(stream.TypeInfo, &trace.RunInfo{Program: "ends.fa", Ended: trace.EndedDone})...)
			b = stream.AppendEnd(b)
		}
		return a.leave(b)
	}},

	// Blocks.
	{"runs of one block", func(a *attacker) error { return a.sends(&trace.RunInfo{Program: "one.fa"}, nil) }},
	{"times that go back", func(a *attacker) error {
		n := uint32(0)
		return a.sends(&trace.RunInfo{Program: "back.fa"}, func(h []byte) {
			for _, at := range []int{16, 24, 32} { // base, first and last
				binary.LittleEndian.PutUint64(h[at:], uint64(math.MaxInt64)-uint64(n)<<40)
			}
			n++
		})
	}},
	{"times at the limits", func(a *attacker) error {
		return a.sends(&trace.RunInfo{Program: "times.fa"}, func(h []byte) {
			binary.LittleEndian.PutUint64(h[24:], 1<<63)   // first
			binary.LittleEndian.PutUint64(h[32:], 1<<63-1) // last
		})
	}},
	{"counts at the limits", func(a *attacker) error {
		return a.sends(&trace.RunInfo{Program: "counts.fa"}, func(h []byte) {
			binary.LittleEndian.PutUint32(h[12:], binary.LittleEndian.Uint32(h[52:])) // events: as many as bytes
		})
	}},
	{"many streams", func(a *attacker) error {
		s := uint32(0)
		b := a.whole(&trace.RunInfo{Program: "streams.fa"}, nil)
		for range 4200 {
			b = stream.AppendBlock(b, 0, changed(a.events(), func(h []byte) {
				binary.LittleEndian.PutUint32(h[8:], s)
				binary.LittleEndian.PutUint32(h[40:], 0)
				s++
			}))
		}
		return a.leave(b)
	}},
	{"noise as payload", func(a *attacker) error {
		b := bytes.Clone(a.events())
		copy(b[tracefile.BlockHeaderSize:], a.noise(len(b)))
		b = changed(b, func(h []byte) {
			sum := crc32.Checksum(b[tracefile.BlockHeaderSize:], crc32.MakeTable(crc32.Castagnoli))
			binary.LittleEndian.PutUint32(h[56:], sum)
		})
		all := stream.AppendBlock(a.opened(trace.NewRunID(), 0), 0, b)
		return a.say(stream.TypeAck, stream.AppendNumber(all, stream.TypePing, 1))
	}},

	// A run of somebody else's.
	{"a jump ahead", func(a *attacker) error {
		return a.say(stream.TypeRefuse, stream.AppendBlock(a.opened(a.victim, 0), 0, a.last()))
	}},
	{"a jump ahead over what is lost", func(a *attacker) error {
		b := stream.AppendLost(a.opened(a.victim, 0), stream.Lost{Node: 0, Blocks: math.MaxUint64})
		return a.say(stream.TypeRefuse, stream.AppendBlock(b, 0, a.last()))
	}},
	{"nodes taken over", func(a *attacker) error { return a.leave(a.opened(a.victim, 0)) }},
	{"nodes closed", func(a *attacker) error {
		return a.leave(stream.AppendNode(a.opened(a.victim, 0), stream.TypeClose, 0))
	}},
	{"nodes of no use", func(a *attacker) error { return a.leave(a.opened(a.victim, 1+a.rnd.IntN(100))) }},
	{"many hellos of a known run", func(a *attacker) error {
		for range 20 {
			b := a.helloOf(a.victim, &trace.RunInfo{Program: "mine.fa"})
			if err := a.say(stream.TypeWelcome, b); err != nil {
				return err
			}
		}
		return nil
	}},

	// The disk.
	{"the folder removed", func(a *attacker) error { return a.disk(os.RemoveAll) }},
	{"the folder replaced", func(a *attacker) error {
		return a.disk(func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".moved"), os.Mkdir(dir, 0o777), os.RemoveAll(dir+".moved"))
		})
	}},
	{"the file replaced", func(a *attacker) error {
		return a.disk(func(dir string) error {
			return os.WriteFile(filepath.Join(dir, tracefile.FileName(0)), a.noise(1000), 0o666)
		})
	}},

	// The page.
	{"every address of the page", (*attacker).pages},
	{"slow readers of the page", func(a *attacker) error {
		for _, path := range []string{"/", "/api/runs", "/api/runs/ID/report", "/api/runs/ID/events.csv"} {
			if err := a.raw(a.request(a.ofRun(path))); err != nil {
				return err
			}
			c := a.held[len(a.held)-1].(*net.TCPConn)
			_ = c.SetReadBuffer(1 << 10)
			_, _ = c.Read(make([]byte, 1))
		}
		return nil
	}},
	{"updates that nobody reads", func(a *attacker) error {
		return errors.Join(a.raw(a.request("/api/updates")), a.raw(a.request(a.ofRun("/api/runs/ID/updates"))))
	}},
}

// pagePaths are addresses of the page.
var pagePaths = strings.Fields("/ /api/runs /api/series /api/compare /api/none " +
	strings.ReplaceAll(" * */export */events.csv */report */checks */factors */tile */boxes */arrows */path"+
		" */cf/x */cf/1 */df/x */df/1 */search */at */series */matrix */memory */events */fragments */fragments/0"+
		" */fragments/0/cfs */userevents */graph/nodes */graph/codes */graph/around", "*", "/api/runs/ID"))

// oddQueries are what addresses are asked with.
func oddQueries() []string {
	list := []string{"", "cf=x", "df=x", "from=5&to=1", "%zz",
		"from=-9223372036854775808&to=9223372036854775807", "limit=10000&offset=1099511627776",
		"width=4096&bins=4096", "text=" + strings.Repeat("x", 5000)}
	odd := url.Values{}
	for _, name := range strings.Fields("a b bins by cf code depth df from kinds lanes lang limit link links" +
		" names node nodes offset points q sort t text to value width windows") {
		odd.Set(name, "-0x\x00")
	}
	return append(list, odd.Encode())
}

// pages asks for some addresses with every odd query.
func (a *attacker) pages() error {
	for range 4 {
		path := pagePaths[a.rnd.IntN(len(pagePaths))]
		for _, query := range oddQueries() {
			c, err := a.dial()
			if err != nil {
				return err
			}
			_, err = io.WriteString(c, a.request(a.ofRun(path)+"?"+query))
			if err == nil {
				_, err = io.CopyN(io.Discard, c, 1<<20)
			}
			c.Close()
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
	}
	return nil
}

// request is a request of the page.
func (a *attacker) request(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + a.token +
		"\r\nConnection: close\r\n\r\n"
}

// ofRun puts the id of one of the runs in place of ID.
func (a *attacker) ofRun(path string) string {
	if !strings.Contains(path, "ID") {
		return path
	}
	c, err := a.dial()
	if err != nil {
		return path
	}
	defer c.Close()
	if _, err := io.WriteString(c, a.request("/api/runs")); err != nil {
		return path
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return path
	}
	defer answer.Body.Close()
	var runs []struct{ ID string }
	if json.NewDecoder(answer.Body).Decode(&runs) != nil || len(runs) == 0 {
		return path
	}
	return strings.Replace(path, "ID", runs[a.rnd.IntN(len(runs))].ID, 1)
}

func (a *attacker) dial() (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: a.from}, Timeout: time.Minute}
	c, err := d.Dial("tcp", a.addr)
	if err == nil {
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_ = c.(*net.TCPConn).SetLinger(0) // thousands of ports would wait otherwise
	}
	return c, err
}

// mostHeld is how many connections an attacker leaves half-open.
const mostHeld = 24

// hold leaves a connection half-open, and closes one from before.
func (a *attacker) hold(c net.Conn) {
	a.held = append(a.held, c)
	if len(a.held) > mostHeld {
		a.held[0].Close()
		a.held = a.held[1:]
	}
}

func (a *attacker) close() {
	for _, c := range a.held {
		c.Close()
	}
	a.held = nil
}

// raw says something to the HTTP server, reads nothing, and leaves the connection half-open.
func (a *attacker) raw(text string) error {
	c, err := a.dial()
	if err != nil {
		return err
	}
	a.hold(c)
	_ = c.SetDeadline(time.Now().Add(time.Second)) // it may be refused, or not be read
	_, _ = io.WriteString(c, text)
	return nil
}

// stream is a connection that has begun to send.
func (a *attacker) stream() (*stream.Conn, error) {
	c, err := a.dial()
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(c)
	answer := new(http.Response)
	if _, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n"+
		"Authorization: Bearer %s\r\n\r\n", stream.Path, stream.Protocol, a.token); err == nil {
		answer, err = http.ReadResponse(r, nil) //nolint:bodyclose // what follows is no body
	}
	if err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
		err = errors.New(answer.Status)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	a.hold(c)
	return stream.NewConn(c, r, time.Minute, stream.DefaultMaxFrame), nil
}

// leave sends frames, reads nothing, and leaves the stream half-open.
func (a *attacker) leave(frames ...[]byte) error {
	c, err := a.stream()
	if err != nil {
		return err
	}
	c.SetIdle(time.Second) // it may be refused, or not be read
	_, _ = c.Write(bytes.Join(frames, nil))
	return nil
}

// say sends frames, and waits for a frame of a type.
func (a *attacker) say(until stream.Type, frames ...[]byte) error {
	c, err := a.stream()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write(bytes.Join(frames, nil))
	for {
		f, rerr := c.Next()
		switch {
		case rerr != nil:
			return errors.Join(err, rerr)
		case f.Type == stream.TypeWelcome:
			a.welcome(f)
		case f.Type == stream.TypeRefuse && until != f.Type:
			return a.refused(f)
		}
		if f.Type == until {
			return nil
		}
	}
}

// welcome notes the folder of a run of its own.
func (a *attacker) welcome(f stream.Frame) string {
	w, err := stream.ParseWelcome(f.Body)
	if err != nil {
		return ""
	}
	a.folders = append(a.folders, w.Folder)
	return w.Folder
}

// refused is the error of a refusal. Of an attacker that has as many runs as it may some are removed, as the
// user of a full collector does.
func (a *attacker) refused(f stream.Frame) error {
	if bytes.Contains(f.Body, []byte("it keeps")) {
		for _, name := range a.folders {
			if !strings.HasPrefix(name, "honest") { // as that of the victim is
				_ = os.RemoveAll(filepath.Join(a.dir, name)) // it may be gone
			}
		}
		a.folders = nil
	}
	return errors.New(string(f.Body))
}

// sends sends a run of a small trace, the headers of whose blocks are changed, and vanishes.
func (a *attacker) sends(info *trace.RunInfo, change func(header []byte)) error {
	return a.say(stream.TypeAck, stream.AppendNumber(a.whole(info, change), stream.TypePing, 1))
}

// disk sends a run, does something to its folder, and sends more.
func (a *attacker) disk(do func(dir string) error) error {
	c, err := a.stream()
	if err != nil {
		return err
	}
	defer c.Close()
	id := trace.NewRunID()
	b := stream.AppendBlock(a.opened(id, 0), 0, a.blocks[0])
	if _, err := c.Write(stream.AppendNumber(b, stream.TypePing, 1)); err != nil {
		return err
	}
	folder := ""
	for {
		f, err := c.Next()
		switch {
		case err != nil:
			return err
		case f.Type == stream.TypeRefuse:
			return a.refused(f)
		case f.Type == stream.TypeWelcome:
			folder = a.welcome(f)
		case f.Type == stream.TypeAck:
			if err := do(filepath.Join(a.dir, folder)); err != nil {
				return err
			}
			for _, block := range a.blocks[1:] {
				_, _ = c.Write(stream.AppendBlock(nil, 0, block)) // it may be refused
			}
			return a.leave(b)
		}
	}
}

// whole is all frames of a run of a small trace, the headers of whose blocks are changed.
func (a *attacker) whole(info *trace.RunInfo, change func(header []byte)) []byte {
	b := stream.AppendNode(a.hello(info), stream.TypeOpen, 0)
	for _, block := range a.blocks {
		if change != nil {
			block = changed(block, change)
		}
		b = stream.AppendBlock(b, 0, block)
	}
	return b
}

func (a *attacker) frame(t stream.Type, v any) []byte {
	b, err := stream.AppendJSON(nil, t, v)
	if err != nil {
		panic(err)
	}
	return b
}

func (a *attacker) helloOf(run string, info *trace.RunInfo) []byte {
	return a.frame(stream.TypeHello, stream.Hello{Format: stream.FormatVersion, Run: run,
		Sender: fmt.Sprint("attacker ", a.rnd.IntN(10)), Info: info})
}

func (a *attacker) hello(info *trace.RunInfo) []byte { return a.helloOf(trace.NewRunID(), info) }

// opened is a hello of a run and the wish to send a node.
func (a *attacker) opened(run string, node int) []byte {
	return stream.AppendNode(a.helloOf(run, &trace.RunInfo{Program: "mine.fa"}), stream.TypeOpen, node)
}

func (a *attacker) noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(a.rnd.Uint32())
	}
	return b
}

// events is a block of events.
func (a *attacker) events() []byte {
	for _, b := range a.blocks {
		if h, _, err := tracefile.ParseBlockHeader(b); err == nil && !h.Defs {
			return b
		}
	}
	return nil
}

// last is a block of events with the greatest number there is.
func (a *attacker) last() []byte {
	return changed(a.events(), func(h []byte) { binary.LittleEndian.PutUint32(h[40:], math.MaxUint32-1) })
}

// changed is a block with another header, whose sum is right.
func changed(block []byte, change func(header []byte)) []byte {
	b := bytes.Clone(block)
	change(b)
	end := tracefile.BlockHeaderSize - 4
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// smallBlocks are the blocks of a small trace.
func smallBlocks(t testing.TB) (list [][]byte) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a.trace")
	w, err := trace.Create(dir, 0, trace.Options{BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	emitSome(w, 0, 500)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, b := range rawBlocks(t, dir) {
		list = append(list, b.Bytes)
	}
	return list
}
