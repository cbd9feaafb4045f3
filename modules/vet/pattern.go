package vet

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

const (
	// maxRepeats and maxWays limit the strings that are generated for a pattern: how
	// much longer than the shortest one they are, and how many alternatives are tried.
	maxRepeats, maxWays = 64, 3
	// maxGenerated limits the length of a generated string, and the number of steps
	// that make it.
	maxGenerated = 4096
	// maxAttempts limits how many strings are checked against a schema.
	maxAttempts = 16
)

// generated returns a string that the schema accepts, made from one of its patterns
// or padded to its minimal length, or nil if none is found. The string means nothing,
// and isn't a placeholder, so only samples that are rendered have it.
func (of schema) generated() ast.Expr {
	tried := map[string]bool{}
	for _, t := range of.shape {
		if t.Kind != shape.StringKind || t.Value != nil {
			continue
		}
		for _, text := range stringsFor(t.Strings) {
			if tried[text] || len(tried) == maxAttempts {
				continue
			}
			tried[text] = true
			if e := ast.NewString(text); of.takes(e) {
				return e
			}
		}
	}
	return nil
}

// stringsFor returns strings that match one of the patterns and have an admitted
// length, shorter ones first. A string that is too short is padded, which helps if
// the pattern isn't anchored.
func stringsFor(s shape.Strings) []string {
	var least, most int64 = 0, maxGenerated
	if s.Min != nil {
		least = *s.Min
	}
	if s.Max != nil {
		most = min(most, *s.Max)
	}
	if least > most {
		return nil
	}
	var all []string
	add := func(text string) {
		if n := int64(utf8.RuneCountInString(text)); least <= n && n <= most {
			all = append(all, text)
		}
	}
	var padded []string
	for _, pattern := range append(slices.Clone(s.Patterns), "") {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			continue
		}
		for n := range maxRepeats {
			for way := range maxWays {
				g := generator{repeats: n, way: way}
				g.write(re)
				add(g.text.String())
				if missing := least - int64(utf8.RuneCountInString(g.text.String())); n == 0 && missing > 0 {
					padded = append(padded, g.text.String()+strings.Repeat("a", int(missing)))
				}
			}
		}
	}
	for _, text := range padded {
		add(text)
	}
	return slices.Compact(all)
}

// generator writes a string that matches a pattern, except that it ignores the
// assertions: the caller checks the result.
type generator struct {
	text strings.Builder
	// repeats is how often what may be repeated is repeated beyond its minimum.
	repeats int
	// way is the index of the branch of every alternation.
	way int
	// steps counts the calls of write. Nested repetitions multiply them, also those
	// that write nothing.
	steps int
}

// write appends a string for re. A string that takes too many steps is cut, so that
// it usually fails the check.
func (g *generator) write(re *syntax.Regexp) {
	if g.steps++; g.steps > maxGenerated {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		g.text.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			g.text.WriteRune(runeOf(re.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		g.text.WriteByte('a')
	case syntax.OpAlternate:
		g.write(re.Sub[g.way%len(re.Sub)])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			g.write(sub)
		}
	case syntax.OpStar:
		g.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		g.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		g.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		g.repeat(re.Sub[0], re.Min, re.Max)
	}
}

// repeat appends strings for re: at least least, and at most most unless it is -1.
func (g *generator) repeat(re *syntax.Regexp, least, most int) {
	n := least + g.repeats
	if most >= 0 {
		n = min(n, most)
	}
	for range n {
		g.write(re)
	}
}

// runeOf returns a rune of a character class, which is a list of ranges: a letter or
// a digit if it has one.
func runeOf(class []rune) rune {
	for _, r := range "a1A" {
		for i := 0; i < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	return class[0]
}
