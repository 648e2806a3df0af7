package twin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	. "github.com/whyslow/whyslow/trace"
)

// jsonEvent is an event as JSON has it.
type jsonEvent struct {
	Time         int64
	Node, Stream int
	Event        string
	Fields       map[string]json.RawMessage
}

// What is written as JSON has every field of every event: read back, it is the event that the text has.
func TestJSONOfRandomTraces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		writeRandom(rt, dir)
		r := open(t, dir)
		var out bytes.Buffer
		if err := eventjson.Dump(&out, r, nil); err != nil {
			rt.Fatal(err)
		}
		in := json.NewDecoder(&out)
		if err := twin.EachEvent(r, nil, func(d *Defs, b *Batch, i int) error {
			var got jsonEvent
			if err := in.Decode(&got); err != nil {
				return err
			}
			spec, args := d.Kind(b.Kind[i]), b.Args(i)
			want := jsonEvent{b.Time[i], b.Node, b.Stream, spec.String(), got.Fields}
			if diff := cmp.Diff(want, got); diff != "" || len(got.Fields) != len(spec.Fields) {
				return fmt.Errorf("%d fields, want %d: %s", len(got.Fields), len(spec.Fields), diff)
			}
			for f, field := range spec.Fields {
				words, element := args[f:f+1], field.Type
				var elements []json.RawMessage
				if field.Type.List() {
					words, element = args[f+1:], map[FieldType]FieldType{FieldInts: FieldInt, FieldDFs: FieldDF}[field.Type]
					if err := json.Unmarshal(got.Fields[field.Name], &elements); err != nil {
						return err
					}
				} else {
					elements = []json.RawMessage{got.Fields[field.Name]}
				}
				if len(elements) != len(words) {
					return fmt.Errorf("%s of %s: %d elements, want %d", field.Name, spec, len(elements), len(words))
				}
				for n, text := range elements {
					if err := sameWord(d, element, string(text), words[n]); err != nil {
						return fmt.Errorf("%s of %s: %w", field.Name, spec, err)
					}
				}
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		if in.More() {
			rt.Fatal("more events than there are")
		}
	})
}

// sameWord fails if JSON is not the word of a field of a type.
func sameWord(d *Defs, t FieldType, text string, want uint64) error {
	var got uint64
	var s string
	var ref struct{ DF, Site uint64 }
	var err error
	switch {
	case text == "null":
	case t == FieldDF || t == FieldSite:
		err = json.Unmarshal([]byte(text), &ref)
		got = ref.DF + ref.Site
	case t == FieldCF || t == FieldMessage:
		err = json.Unmarshal([]byte(text), &s)
		node, counter, _ := strings.Cut(s, ".")
		n, _ := strconv.ParseUint(node, 10, 16)
		c, _ := strconv.ParseUint(counter, 10, 48)
		got = uint64(MakeCF(int(n), c))
	case t == FieldName:
		err = json.Unmarshal([]byte(text), &s)
		if s == strings.ToValidUTF8(d.Name(Name(want)), "\ufffd") {
			got = want
		}
	case t == FieldReason:
		err = json.Unmarshal([]byte(text), &s)
		if s == Reason(want).String() {
			got = want
		}
	case t == FieldFloat:
		var f float64
		f, err = strconv.ParseFloat(strings.Trim(text, `"`), 64)
		if got = math.Float64bits(f); math.IsNaN(f) && math.IsNaN(math.Float64frombits(want)) {
			got = want // JSON does not tell NaNs apart
		}
	case t == FieldInt || t == FieldNS || t == FieldBytes:
		var v int64
		v, err = strconv.ParseInt(text, 10, 64)
		got = uint64(v)
	default:
		got, err = strconv.ParseUint(text, 10, 64)
	}
	if err == nil && got != want {
		err = fmt.Errorf("%s is not word %d", text, want)
	}
	return err
}
