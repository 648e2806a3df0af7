package epilog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// layouts are the fields of records: 1, 4 and 8 bytes, t(ime), s(tring with its zero byte), b(ytes).
var layouts = map[byte]string{1: "41s", 2: "s", 3: "444", 4: "4444t", 5: "44", 6: "444", 7: "44444", 8: "44",
	9: "4444441", 11: "414b", 13: "", 14: "4", 15: "44444", 101: "4t41", 111: "4t41", 102: "4t1", 123: "4t444",
	126: "4t44", 127: "4t44", 128: "4t444", 129: "4t14444", 130: "4t4", 131: "4t4"}

// read writes the records of a file as text, one a line.
func read(t *testing.T, file []byte) string {
	t.Helper()
	const header = "EPILOG\x00\x01\x09\x01"
	body, ok := bytes.CutPrefix(file, []byte(header))
	if !ok {
		t.Fatalf("it begins with %q", file[:min(len(file), 10)])
	}
	var out strings.Builder
	for len(body) > 0 {
		n, kind := int(body[0]), body[1]
		rec := body[2 : 2+n]
		body = body[2+n:]
		layout, known := layouts[kind]
		if !known {
			t.Fatalf("a record of type %d", kind)
		}
		fmt.Fprint(&out, kind)
		for _, f := range layout {
			switch f {
			case '1':
				fmt.Fprint(&out, " ", rec[0])
				rec = rec[1:]
			case '4':
				v := binary.LittleEndian.Uint32(rec)
				if rec = rec[4:]; v == math.MaxUint32 {
					out.WriteString(" -")
				} else {
					fmt.Fprint(&out, " ", v)
				}
			case 't':
				fmt.Fprintf(&out, " %.9f", math.Float64frombits(binary.LittleEndian.Uint64(rec)))
				rec = rec[8:]
			default:
				fmt.Fprintf(&out, " %q", rec)
				rec = nil
			}
		}
		if len(rec) > 0 {
			t.Errorf("%d bytes of a record of type %d are too much", len(rec), kind)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func convert(t *testing.T, text string) ([]byte, error) {
	t.Helper()
	var b bytes.Buffer
	err := Write(t.Context(), &b, sloutest.Build(t, text))
	return b.Bytes(), err
}

const story = `#run {"program":"p","ended":"done","processes":[{"pid":1,"host":"a","cores":4},` +
	`{"pid":2,"host":"b"}],"nodes":[{"node":0,"host":"a","process":0,"workers":1},{"node":1,"host":"b","process":1,"workers":1}]}
#node 0
#code 1 main function at=p.c:3:0
#code 2 shmem_putmem bulk
#code 3 shmem_barrier_all barrier
#site 1 code=1
#site 2 code=2 at=p.c:5:0
#site 3 code=3 at=p.c:6:0
1000 Global.onProgramStarted
1000 Region.onEntered 1
1010 Region.onEntered 2
1010 Message.onPut to=1 bytes=64
1020 Region.onExited 2
1030 Region.onEntered 3
1030 Sync.onCollective barrier size=2
1050 Region.onExited 3
1060 Region.onExited 1
1060 Global.onProgramFinished
#node 1
#code 1 main function at=p.c:3:0
#code 2 shmem_set_lock lock
#code 3 shmem_barrier_all barrier
#site 1 code=1
#site 2 code=2 at=p.c:8:0
#site 3 code=3 at=p.c:6:0
1000 Global.onProgramStarted process=1
1000 Region.onEntered 1
1005 Region.onEntered 2
1012 Sync.onAcquired 64
1012 Region.onExited 2
1040 Region.onEntered 3
1040 Sync.onCollective barrier size=2
1050 Region.onExited 3
1060 Region.onExited 1
1060 Global.onProgramFinished
`

// A run of two PEs: one puts, one locks, both meet in a barrier.
func TestWrite(t *testing.T) {
	file, err := convert(t, story)
	if err != nil {
		t.Fatal(err)
	}
	_, events, ok := strings.Cut(read(t, file), "\n14 15\n13\n") // as many events follow the definitions
	if !ok {
		t.Fatalf("%s", read(t, file))
	}
	want := `101 0 0.000000000 1 0
101 1 0.000000000 1 0
111 1 0.000000005 2 0
111 0 0.000000010 0 0
123 0 0.000000010 1 1 64
130 1 0.000000012 0
102 1 0.000000012 0
127 0 0.000000020 1 1
102 0 0.000000020 0
111 0 0.000000030 1 0
111 1 0.000000040 1 0
129 0 0.000000050 0 - 0 0 0
129 1 0.000000050 0 - 0 0 0
102 0 0.000000060 0
102 1 0.000000060 0
`
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s\nall:\n%s", diff, read(t, file))
	}
	for _, line := range []string{`7 0 0 0 0 0`, `7 1 0 1 1 0`, `11 0 0 1 "\x03"`, `4 0 0 4`} {
		if !strings.Contains(read(t, file), "\n"+line) {
			t.Errorf("no record %s in\n%s", line, read(t, file))
		}
	}
}

// Texts that do not fit in a record go on in others.
func TestLongText(t *testing.T) {
	for _, n := range []int{249, 250, 251, 504, 505, 506, 70000} {
		name := strings.Repeat("Q", n)
		file, err := convert(t, strings.ReplaceAll(story, "main function", name+" function"))
		if err != nil {
			t.Fatal(err)
		}
		text := read(t, file)
		if got := strings.Count(text, "Q"); got != min(n, mostText-1) {
			t.Errorf("of %d characters %d are there", n, got)
		}
	}
}

// TestNames: names come out as they are, but for NUL, which ends texts.
func TestNames(t *testing.T) {
	for _, name := range sloutest.Names {
		if len(name) > mostString-1 {
			continue // TestLongText has these
		}
		file, err := convert(t, strings.ReplaceAll(story, "main function", strconv.Quote(name)+" function"))
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(" %q\n", strings.ReplaceAll(name, "\x00", " ")+"\x00")
		if text := read(t, file); !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

func TestNoRegions(t *testing.T) {
	_, err := convert(t, "#node 0\n#code 1 f atomic\n#site 1 code=1\n0 Global.onProgramStarted\n")
	if err == nil || !strings.Contains(err.Error(), "no regions were recorded") {
		t.Error(err)
	}
}
