package trace

import "testing"

// Two identity lists with the same id exist; these were searched for.
func TestIdentitiesThatCollide(t *testing.T) {
	for _, c := range [][2][]int64{
		{{0, 1, -4814455743165677260}, {0, 1, 1245931602509595413}},
		{{0, 1, 8313430084127879138, 5}, {0, 1, -2361343401334592061, 5}},
		{{0, 2, 2335787286256896122}, {0, 2, -8354304732869260709}},
	} {
		if a, b := IdentityID(c[0]), IdentityID(c[1]); a != b {
			t.Errorf("ids of %v and %v are %016x and %016x: the hash has changed", c[0], c[1], a, b)
		}
	}
}
