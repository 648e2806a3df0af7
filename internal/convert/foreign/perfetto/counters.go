package perfetto

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/whyslow/whyslow/internal/convert/perfetto/wire"
)

// track is what a packet says of one.
type track struct {
	name, of    string // and of a process or thread
	parent      uint64
	counter     bool
	unit        int64 // what its values are multiplied by
	incremental bool  // each value is added to those before
	sum         float64
	full        string // with what it is of; "" before it is first needed
}

// describe takes in a description of a track. It may come again.
func (t *trace) describe(message []byte) error {
	if message == nil {
		return nil
	}
	d, id := &track{unit: 1}, uint64(0)
	err := each(message, func(f protowire.Number, v uint64, b []byte) (err error) {
		switch f {
		case wire.TrackID:
			id = v
		case wire.TrackName, wire.TrackStaticName:
			d.name = string(b)
		case wire.TrackParent:
			d.parent = v
		case wire.TrackProcess:
			d.of, err = textOf(b, wire.ProcessName)
		case wire.TrackThread:
			d.of, err = textOf(b, wire.ThreadName)
		case wire.TrackCounter:
			d.counter = true
			err = each(b, func(f protowire.Number, v uint64, _ []byte) error {
				switch f {
				case wire.CounterUnit:
					d.unit = int64(max(v, 1))
				case wire.CounterIncremental:
					d.incremental = v != 0
				}
				return nil
			})
		}
		return err
	})
	if old := t.tracks[id]; old != nil && old.counter {
		return err // its sum and name stay
	}
	t.tracks[id] = d
	return err
}

// textOf gives a text in a message.
func textOf(message []byte, field protowire.Number) (text string, err error) {
	err = each(message, func(f protowire.Number, _ uint64, b []byte) error {
		if f == field {
			text = string(b)
		}
		return nil
	})
	return text, err
}

// counter takes in a value of a counter: a float64 or an int64.
func (t *trace) counter(id uint64, at int64, value uint64, float bool) error {
	c := t.tracks[id]
	if c == nil {
		c = &track{unit: 1, counter: true}
		t.tracks[id] = c
	}
	if c.full == "" {
		c.full = c.name
		if c.full == "" {
			c.full = "counter " + strconv.FormatUint(id, 16)
		}
		if p := t.tracks[c.parent]; p != nil && c.parent != id && p.of+p.name != "" {
			c.full += " of " + p.of + p.name
		}
		if _, taken := t.named[c.full]; taken {
			c.full += " " + strconv.FormatUint(id, 16)
		}
		t.named[c.full] = true
	}
	v := float64(int64(value))
	if float {
		v = math.Float64frombits(value)
	}
	if v *= float64(c.unit); c.incremental {
		c.sum += v
		v = c.sum
	}
	return t.Counter(c.full, at, v)
}
