package words

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestUnits(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1000: "1.00 µs", 12345: "12.3 µs",
		999_499: "999 µs", 999_500: "1.00 ms", 1_500_000: "1.50 ms",
		100_000_000: "100 ms", 61_000_000_000: "61.0 s", -1500: "-1.50 µs", 123456789012: "123 s"} {
		if got := English.Duration(ns); got != want {
			t.Errorf("%d ns: %s, want %s", ns, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1500: "1.5 KB",
		2_000_000: "2.0 MB", 3e9: "3.0 GB", 4e12: "4.0 TB", 5e15: "5000.0 TB", -1500: "-1.5 KB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
}

// TestAnyNumber: every number there is has a short text that says its sign.
func TestAnyNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int64(), rapid.Just(int64(math.MinInt64))).Draw(t, "n")
		for _, l := range []Lang{English, Russian} {
			for _, text := range []string{l.Duration(n), l.Bytes(n)} {
				if (n < 0) != strings.HasPrefix(text, "-") || strings.Count(text, "-") > 1 || len(text) > 40 {
					t.Fatalf("%d: %s", n, text)
				}
			}
			l.Percent(n, rapid.Int64().Draw(t, "of"))
			l.Count(n, OfWorkers)
		}
	})
}

func TestRussian(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 нс", 1000: "1,00 мкс", 999_500: "1,00 мс",
		100_000_000: "100 мс", 61_000_000_000: "61,0 с", -1500: "-1,50 мкс"} {
		if got := Russian.Duration(ns); got != want {
			t.Errorf("%d ns: %s, want %s", ns, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 байт", 1: "1 байт", 2: "2 байта", 5: "5 байт", 12: "12 байт",
		21: "21 байт", 112: "112 байт", 999: "999 байт", 1500: "1,5 КБ", 2_000_000: "2,0 МБ", 3e9: "3,0 ГБ",
		4e12: "4,0 ТБ", -1500: "-1,5 КБ"} {
		if got := Russian.Bytes(n); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 рабочих потоков", 1: "1 рабочий поток", 3: "3 рабочих потока",
		11: "11 рабочих потоков", 14: "14 рабочих потоков", 22: "22 рабочих потока", 101: "101 рабочий поток",
		111: "111 рабочих потоков"} {
		if got := Russian.Count(n, Workers); got != want {
			t.Errorf("%d workers: %s, want %s", n, got, want)
		}
	}
	if got := Russian.Percent(1, 8); got != "12,5 %" {
		t.Error(got)
	}
}

func TestText(t *testing.T) {
	inner := Say(" before %s", " до %s", Time(1500))
	text := Say("%s of %s%s: %s (%s), %s", "%s из %s%[3]s: %[5]s, %[4]s и %[6]s",
		Number{1, OfMessages.AlwaysMore()}, Number{21, OfWorkers}, inner, Size(2), Share{1, 3}, Decimal(1.25))
	for lang, want := range map[string]string{"": "1 messages of 21 workers before 1.50 µs: 2 bytes (33.3 %), " +
		"1.2", "ru": "1 сообщения из 21 рабочего потока до 1,50 мкс: 33,3 %, 2 байта и 1,2"} {
		if got := text.In(LangOf(lang)); got != want {
			t.Errorf("%q: %s, want %s", lang, got, want)
		}
	}
	if got := (Text{}).In(Russian); got != "" {
		t.Error(got)
	}
	if got := Say("%s", "%s", Number{3, Noun{Russian: Cores.Russian}}).In(English); got != "3" {
		t.Error(got)
	}
}

func TestTerminalWithoutUTF8(t *testing.T) {
	for locale, want := range map[[3]string]bool{
		{"", "", ""}: true, {"", "", "en_US.UTF-8"}: true, {"C", "", "en_US.UTF-8"}: false,
		{"", "ru_RU.KOI8-R", "C.utf8"}: false, {"C.utf8", "POSIX", "C"}: true,
	} {
		env := map[string]string{"LC_ALL": locale[0], "LC_CTYPE": locale[1], "LANG": locale[2]}
		if got := UTF8(func(name string) string { return env[name] }); got != want {
			t.Errorf("%q: %v", locale, got)
		}
	}
	var b strings.Builder
	text := English.Duration(1500) + ", µ, " + English.Duration(7000) + "\n"
	w := ASCII(&b)
	for i := range len(text) { // byte by byte
		if n, err := fmt.Fprint(w, text[i:i+1]); n != 1 || err != nil {
			t.Error(n, err)
		}
	}
	if b.String() != "1.50 us, µ, 7.00 us\n" {
		t.Error(b.String())
	}
}

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "2w": 336 * time.Hour,
		"1.5d": 36 * time.Hour, "12h": 12 * time.Hour, "90m": 90 * time.Minute} {
		if got, err := ParseAge(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "0d", "-1d", "30", "NaNd", "1e300w", "infd", "-5h", "soon"} {
		if got, err := ParseAge(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
