package index

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// picture is an index of a recorded run.
func picture(t testing.TB, dir string) *Index {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := model.Build(t.Context(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tl, err := timeline.Build(t.Context(), m, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &Index{Timeline: tl,
		Answers: map[string][]byte{"": []byte("{}"), "report en": bytes.Repeat([]byte("x"), 999)}}
}

// TestIndex: an index is read as it was written, and neither where the trace has changed nor where a byte of
// it is wrong or missing.
func TestIndex(t *testing.T) {
	dir := sloutest.Recorded(t, "heat", 2)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	key, err := KeyOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir, key); err == nil {
		t.Error("there is an index of a new trace")
	}
	x := picture(t, dir)
	path, size, err := Write(dir, key, x)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir, key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Answers) != len(x.Answers) || !bytes.Equal(got.Timeline.Save(nil), x.Timeline.Save(nil)) {
		t.Error("another index is read")
	}
	for name, answer := range x.Answers {
		if !bytes.Equal(got.Answers[name], answer) {
			t.Errorf("%q: %s", name, got.Answers[name])
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || int64(len(data)) != size {
		t.Fatal(len(data), size, err)
	}
	for at := 0; at < len(data); at += 1 + len(data)/199 {
		wrong := bytes.Clone(data)
		wrong[at] ^= 4
		for _, b := range [][]byte{wrong, data[:at]} {
			if _, err := unpack(b, key); err == nil {
				t.Errorf("wrong at %d of %d, and taken", at, len(data))
			}
		}
	}
	if err := os.Chtimes(filepath.Join(dir, "00000.wst"), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if other, err := KeyOf(dir); err != nil || other == key {
		t.Error("a changed trace has the same key", err)
	}
}

// TestIndexElsewhere: an index of a trace in a folder that cannot be written goes to the user's cache.
func TestIndexElsewhere(t *testing.T) {
	dir := sloutest.Recorded(t, "heat", 2)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	if err := os.Mkdir(filepath.Join(dir, Name), 0o755); err != nil { // root may write everywhere
		t.Fatal(err)
	}
	key, err := KeyOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Write(dir, key, picture(t, dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir, key); err != nil {
		t.Error(err)
	}
}

// FuzzParse: what is damaged fails, and ends nothing.
func FuzzParse(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{1, 1, 'x', 2, 'y', 'z', 5, 0, 6, 1, 1, 0, 1, 5, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := parse(b); err == nil && x.Timeline == nil {
			t.Fatal("no timeline")
		}
	})
}
