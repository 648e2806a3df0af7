package perfetto

import (
	"bufio"
	"strconv"

	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
)

// chrome writes the Trace Event Format. Processes are numbered from 1 on.
type chrome struct {
	out   *bufio.Writer
	begun bool
	b     []byte
}

func newChrome(out *bufio.Writer, program string) *chrome {
	c := &chrome{out: out}
	c.b = append(c.b, `{"displayTimeUnit":"ns","otherData":{"program":`...)
	c.b = append(eventjson.AppendString(c.b, program), "},\"traceEvents\":[\n"...)
	c.put()
	return c
}

func (c *chrome) put() { _, _ = c.out.Write(c.b) } // Flush tells

// begin begins a record of a node with a text.
func (c *chrome) begin(text string, node int) {
	c.b = c.b[:0]
	if c.begun {
		c.b = append(c.b, ",\n"...)
	}
	c.begun = true
	c.number(text, int64(node)+1)
}

func (c *chrome) number(text string, n int64) { c.b = strconv.AppendInt(append(c.b, text...), n, 10) }
func (c *chrome) quote(text string, s string) { c.b = eventjson.AppendString(append(c.b, text...), s) }

// time appends microseconds with three digits after the point.
func (c *chrome) time(text string, ns int64) {
	c.b = append(c.b, text...)
	if ns < 0 {
		c.b, ns = append(c.b, '-'), -ns
	}
	c.b = strconv.AppendInt(c.b, ns/1000, 10)
	if rest := ns % 1000; rest > 0 {
		c.b = append(c.b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
}

func (c *chrome) end() { c.b = append(c.b[:0], "\n]}\n"...); c.put() }

func (c *chrome) process(node int, name string) {
	c.begin(`{"name":"process_name","ph":"M","pid":`, node)
	c.quote(`,"args":{"name":`, name)
	c.b = append(c.b, "}}"...)
	c.put()
	c.begin(`{"name":"process_sort_index","ph":"M","pid":`, node)
	c.number(`,"args":{"sort_index":`, int64(node))
	c.b = append(c.b, "}}"...)
	c.put()
}

func (c *chrome) thread(node, tid int, name string) {
	c.begin(`{"name":"thread_name","ph":"M","pid":`, node)
	c.number(`,"tid":`, int64(tid))
	c.quote(`,"args":{"name":`, name)
	c.b = append(c.b, "}}"...)
	c.put()
}

func (c *chrome) slice(s *slice) {
	c.begin(`{"ph":"X","pid":`, s.node)
	c.number(`,"tid":`, int64(s.tid))
	c.quote(`,"name":`, s.name)
	c.quote(`,"cat":`, s.category)
	c.time(`,"ts":`, s.from)
	c.time(`,"dur":`, s.to-s.from)
	if s.flow != 0 {
		c.b = append(c.b, map[bool]string{true: `,"flow_out":true`, false: `,"flow_in":true`}[s.out]...)
		c.number(`,"bind_id":"`, int64(s.flow))
		c.b = append(c.b, '"')
	}
	for i, a := range s.args {
		if c.b = append(c.b, ','); i == 0 {
			c.b = append(c.b, `"args":{`...)
		}
		c.quote("", a.name)
		if c.b = append(c.b, ':'); a.isNumber {
			c.number("", a.number)
		} else {
			c.quote("", a.text)
		}
	}
	if len(s.args) > 0 {
		c.b = append(c.b, '}')
	}
	c.b = append(c.b, '}')
	c.put()
}

func (c *chrome) counter(node int, name string, at, value int64) {
	c.begin(`{"ph":"C","pid":`, node)
	c.quote(`,"name":`, name)
	c.time(`,"ts":`, at)
	c.number(`,"args":{"value":`, value)
	c.b = append(c.b, "}}"...)
	c.put()
}
