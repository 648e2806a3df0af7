package engine_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/engine"
)

var jsonBlock = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")

// TestRulesPage checks docs/rules.md: every argument has its row, every example is a rule that can be
// followed, and what it says of standard events is what the engine does.
func TestRulesPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range append(engine.ArgumentRows(), engine.BuiltInRows()...) {
		if !strings.Contains(string(page), row) {
			t.Errorf("has no row %s", row)
		}
	}
	blocks := jsonBlock.FindAllSubmatch(page, -1)
	rules := 0
	for _, b := range blocks {
		ev, warnings, err := config.ReadEvents("events_config.json", b[1])
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s\n%v %v", b[1], err, warnings)
		}
		for _, e := range ev.List {
			r := config.EventState{Namespace: e.Namespace, Name: e.Name, Rule: e.Rule, Functions: e.Functions,
				Args: e.Args}
			if err := engine.CheckRule(r); err != nil {
				t.Error(err)
			}
			rules++
		}
	}
	if len(blocks) < 4 || rules < 8 {
		t.Errorf("%d examples with %d rules", len(blocks), rules)
	}
}
