package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/show/report"
)

// A program that gains up to four nodes is drawn with a mark there, and on scales on which what doubles with
// the nodes is a straight line that ends where the picture does.
func TestScaling(t *testing.T) {
	p := &report.Prediction{Program: "a<b.fa"}
	p.Recorded.Nodes, p.Recorded.Workers, p.Recorded.WallNS = 1, 1, 1000
	for i, wall := range []int64{1000, 520, 290, 288, 287} {
		p.Machines = append(p.Machines, &simulate.Result{Nodes: 1 << i, Workers: 1, WallNS: wall, UsefulNS: 960,
			LeastNS: max(240, int64(960)>>i), ChainNS: 240})
	}
	for _, lang := range []string{"en", "ru"} {
		picture := report.Scaling(p, lang)
		for d := xml.NewDecoder(strings.NewReader(picture)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err, picture)
			}
		}
		for _, want := range []string{
			`<path class="c0 line" d="M0 1000L2500 `, // from the lower left corner
			`<path class="pays line" d="M5000 1000L5000 0"/>`,
			`<path class="work line" d="M0 980L7353 0"/>`,
			`a&lt;b.fa`, `>×8</text>`,
		} {
			if !strings.Contains(picture, want) {
				t.Errorf("%s: no %s in\n%s", lang, want, picture)
			}
		}
	}
}
