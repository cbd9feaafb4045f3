package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Count returns a number with its noun, such as "1 instance" or "3 instances".
// The noun must form its plural with an s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// maxNames is the largest number of clusters that a text names.
const maxNames = 3

// InClusters tells in how many of all clusters something is, and names them or the others if they
// are few: "in 40 of 42 clusters (not eu-1, eu-2)".
func InClusters(in, all []string) string {
	text, names := fmt.Sprintf("in %d of %d clusters", len(in), len(all)), strings.Join(in, ", ")
	if len(in) > maxNames {
		others := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(in, name) })
		if len(others) == 0 || len(others) > maxNames {
			return text
		}
		names = "not " + strings.Join(others, ", ")
	}
	return text + " (" + names + ")"
}
