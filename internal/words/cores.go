package words

import (
	"strconv"
	"strings"
)

// CoreList reads a list of cores as Linux writes it, "0-3,8". It leaves out what it cannot read, and cuts off
// a range that only a damaged file can have.
func CoreList(list string) (cores []int) {
	const most = 1 << 16
	for _, s := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(s, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		for c := from; err == nil && err2 == nil && c <= to && c-from < most; c++ {
			cores = append(cores, c)
		}
	}
	return cores
}
