package advise

import "testing"

// Every piece of advice about lost time says which waits it counts. Others count none: memory, locators,
// threads beside the workers, and programs with regions, whose patterns say more.
func TestWaits(t *testing.T) {
	for id := range waits {
		if titles[id] == (titles["no such advice"]) {
			t.Errorf("%s counts waits and has no title", id)
		}
	}
	e := map[string]any{"node": 2, "link": "0->1", "df": "x", "consumer": "use", "names": 1}
	for id, want := range map[string]string{"one-node": "S", "distribution": "elsewhere", "latency": "0->1",
		"too-large": "x", "never-freed": ""} {
		w := (&Advice{ID: id, Evidence: e}).Waits()
		got := ""
		if w != nil {
			switch id {
			case "one-node":
				got = w.Factors[0]
			case "distribution":
				got = w.Parts[0]
			case "latency":
				got = w.Link
			default:
				got = w.DF
			}
		}
		if got != want {
			t.Errorf("%s counts %+v", id, w)
		}
	}
}
