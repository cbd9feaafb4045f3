package main

import (
	"slices"
	"strings"
)

// line is a line of a template, or several that belong together.
type line struct {
	text string
	// when are the conditions under which it is rendered. All must hold.
	when []string
	// in are the names of the variants that have it.
	in []string
}

// merge adds a variant of a text to lines, which have its parent variant already. What only
// the variant has is rendered under its condition, and what only the parent has under the
// opposite.
func merge(lines []line, parent, name, condition string, text []string) []line {
	var old []int // the lines of the parent
	for i, l := range lines {
		if slices.Contains(l.in, parent) {
			old = append(old, i)
		}
	}
	var merged []line
	copied := 0
	copyTo := func(end int) {
		merged = append(merged, lines[copied:end]...)
		copied = end
	}
	same := common(len(old), len(text), func(i, j int) bool { return lines[old[i]].text == text[j] })
	for i, j := 0, 0; i < len(old) || j < len(text); {
		switch {
		case i < len(old) && same[i] == j && j < len(text):
			lines[old[i]].in = append(lines[old[i]].in, name)
			copyTo(old[i] + 1)
			i, j = i+1, j+1
		case i < len(old) && same[i] < 0:
			lines[old[i]].when = append(lines[old[i]].when, "(not "+condition+")")
			copyTo(old[i] + 1)
			i++
		default:
			merged = append(merged, line{text: text[j], when: []string{condition}, in: []string{name}})
			j++
		}
	}
	copyTo(len(lines))
	return merged
}

// common returns, for each of n elements, its index among m others in a longest common
// subsequence, or -1.
func common(n, m int, equal func(i, j int) bool) []int {
	length := make([][]int, n+1) // of the subsequence of what follows
	for i := range length {
		length[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			length[i][j] = max(length[i+1][j], length[i][j+1])
			if equal(i, j) {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	same := slices.Repeat([]int{-1}, n)
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case equal(i, j):
			same[i] = j
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return same
}

// render returns the text of a template.
func render(lines []line) string {
	var b strings.Builder
	var open []string
	for _, l := range lines {
		if !slices.Equal(l.when, open) {
			if len(open) > 0 {
				b.WriteString("{{- end }}\n")
			}
			switch {
			case len(l.when) == 1:
				b.WriteString("{{- if " + strings.TrimSuffix(strings.TrimPrefix(l.when[0], "("), ")") + " }}\n")
			case len(l.when) > 1:
				b.WriteString("{{- if and " + strings.Join(l.when, " ") + " }}\n")
			}
			open = l.when
		}
		b.WriteString(l.text + "\n")
	}
	if len(open) > 0 {
		b.WriteString("{{- end }}\n")
	}
	return b.String()
}
