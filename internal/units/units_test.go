package units

import "testing"

func TestUnits(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1000: "1.00 us", 12345: "12.3 us", 999_499: "999 us", 999_500: "1.00 ms", 1_500_000: "1.50 ms",
		100_000_000: "100 ms", 61_000_000_000: "61.0 s", -1500: "-1.50 us", 123456789012: "123 s"} {
		if got := Duration(ns); got != want {
			t.Errorf("%d ns: %s, want %s", ns, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1500: "1.5 KB", 2_000_000: "2.0 MB", 3e9: "3.0 GB", 4e12: "4.0 TB", 5e15: "5000.0 TB", -1500: "-1.5 KB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
}
