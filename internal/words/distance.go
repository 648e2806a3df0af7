package words

import "strings"

// Distance counts the letters to insert, remove, change or swap with their neighbour to get from a to b;
// beyond limit it may return any number above it.
func Distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		table[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := table[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			table[i][j] = min(change, table[i-1][j]+1, table[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				table[i][j] = min(table[i][j], table[i-2][j-2]+1)
			}
		}
	}
	return table[len(a)][len(b)]
}

// Nearest returns the candidate that name was probably meant to be, in any case; "" if none is near.
func Nearest(name string, candidates []string) string {
	limit := 1 + min(len(name), 10)/5
	best, least := "", limit+1
	for _, c := range candidates {
		if d := Distance(strings.ToLower(name), strings.ToLower(c), limit); d < least {
			best, least = c, d
		}
	}
	return best
}

// DidYouMean ends a message about an unknown name: "; did you mean X?", or "" if no candidate is near.
func DidYouMean(name string, candidates []string) string { return Meant(Nearest(name, candidates)) }

// Meant is DidYouMean of what was found near; "" of "".
func Meant(near string) string {
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}
