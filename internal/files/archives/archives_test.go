package archives

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// packed is a .tar.gz of files, in the order given: name, content. A name with "->" is a link.
func packed(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1])), Typeflag: tar.TypeReg}
		if name, to, link := strings.Cut(files[i], "->"); link {
			h = &tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
		}
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := out.Write([]byte(files[i+1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func archiveOf(t testing.TB, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "heat.1-2.trace.tar.gz")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestUnpack(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	name := archiveOf(t, packed(t, "x.trace/run.json", "{}", "x.trace/00000.wst", "abc", "x.trace/page.index",
		"old", "x.trace/link.wst->/etc/passwd", "", "../00001.txt", "no"))
	if !Is(name) || Is(filepath.Dir(name)) {
		t.Error("what an archive is")
	}
	dir, err := Unpack(context.Background(), name, nil)
	if err != nil || filepath.Base(dir) != "heat.1-2.trace" {
		t.Fatal(dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "00000.wst")); err != nil || string(text) != "abc" {
		t.Errorf("%q, %v", text, err)
	}
	// Once; anew if the archive has changed; gone when nobody has opened it for long.
	mark := filepath.Join(dir, "mark")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := Unpack(context.Background(), name, nil); err != nil || again != dir {
		t.Errorf("%s, %v", again, err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("it was unpacked twice")
	}
	old := time.Now().Add(-2 * unpackedFor)
	if err := errors.Join(os.Chtimes(filepath.Dir(dir), old, old), os.Chtimes(name, old, old)); err != nil {
		t.Fatal(err)
	}
	if again, err := Unpack(context.Background(), name, nil); err != nil || again == dir {
		t.Errorf("%s, %v", again, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("an old one is still there")
	}
}

func TestUnpackWrong(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	whole := packed(t, "x.trace/run.json", "{}", "x.trace/00000.wst", strings.Repeat("abc", 100_000))
	most := MaxUnpacked
	MaxUnpacked = 1 << 20
	defer func() { MaxUnpacked = most }()
	for want, data := range map[string][]byte{
		"not a complete .tar.gz":   whole[:len(whole)-20],
		": not a complete .tar.gz": []byte("\x1f\x8b\x08 and no more"),
		"it contains no trace":     packed(t, "readme.txt", "hello"),
		"several traces, a and b":  packed(t, "a/run.json", "{}", "b/run.json", "{}"),
		"run.json is in it twice":  packed(t, "a/run.json", "{}", "a/run.json", "{}"),
		"more than 1048576 bytes":  packed(t, "a/0.wst", strings.Repeat("x", 2<<20)),
		"it contains no trace ":    packed(t, "../../run.txt", "{}"),
	} {
		name := archiveOf(t, data)
		if _, err := Unpack(context.Background(), name, nil); err == nil ||
			!strings.Contains(err.Error(), strings.TrimSpace(want)) || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%q: %v", want, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(cache, "whyslow", "unpacked")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// FuzzUnpack: whatever is in an archive, nothing is written outside of its folder.
func FuzzUnpack(f *testing.F) {
	f.Add(packed(f, "x/run.json", "{}", "../x/0.wst", "a"))
	f.Add(packed(f, "/etc/0.wst", "a", "x->..", ""))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		_ = unpackInto(context.Background(), bytes.NewReader(data), filepath.Join(parent, "x.trace"), nil)
		entries, err := os.ReadDir(parent)
		if err != nil || len(entries) > 1 {
			t.Fatal(entries, err)
		}
	})
}
