package source

import "strconv"

// Count returns a number with its noun, such as "1 instance" or "3 instances".
// The noun must form its plural with an s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
