package cli

import (
	"encoding/json"
	"fmt"
)

type factorJSON struct {
	NS    int64            `json:"ns"`
	Parts map[string]int64 `json:"parts"`
}

// checkSums checks that in a JSON report the factors add up to the total exactly: of the run, every node,
// every worker.
func checkSums(text []byte) error {
	type level struct {
		TotalNS     int64                  `json:"total_ns"`
		UndividedNS *int64                 `json:"undivided_ns"` // of the run only: time of factors that are null
		Factors     map[string]*factorJSON `json:"factors"`
	}
	var r struct {
		level
		Nodes []struct {
			level
			Workers []level `json:"workers"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	check := func(what string, l level) error {
		var sum int64
		if l.UndividedNS != nil {
			sum = *l.UndividedNS
		}
		for name, f := range l.Factors {
			if f == nil && l.UndividedNS == nil {
				return nil // the time of a null factor is given for the run only
			}
			if f == nil {
				continue
			}
			sum += f.NS
			if f.NS < 0 {
				return fmt.Errorf("%s: %s is negative: %d", what, name, f.NS)
			}
		}
		if sum != l.TotalNS || len(l.Factors) != 5 {
			return fmt.Errorf("%s: %d factors add up to %d ns, total is %d ns", what, len(l.Factors), sum, l.TotalNS)
		}
		return nil
	}
	if err := check("run", r.level); err != nil {
		return err
	}
	if len(r.Nodes) == 0 {
		return fmt.Errorf("no nodes in the report")
	}
	for n, node := range r.Nodes {
		if err := check(fmt.Sprintf("node %d", n), node.level); err != nil {
			return err
		}
		for w, worker := range node.Workers {
			if err := check(fmt.Sprintf("node %d worker %d", n, w), worker); err != nil {
				return err
			}
		}
	}
	return nil
}
