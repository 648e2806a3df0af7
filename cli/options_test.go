package cli

import (
	"testing"

	"github.com/whyslow/whyslow/internal/words"
)

func TestParseBandwidth(t *testing.T) {
	for text, want := range map[string]float64{
		"1": 1, "1G": 1e9, "1GB": 1e9, "200M": 2e8, "1.5k": 1500, "2K": 2000, "64Ki": 65536, "1MiB": 1 << 20,
		"1e6": 1e6,
	} {
		if got, err := words.ParseBytes(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "G", "fast", "1X", "NaN", "Inf", "1e30G", "1 G"} {
		if got, err := words.ParseBytes(text); err == nil {
			t.Errorf("%s: %v, want an error", text, got)
		}
	}
}
