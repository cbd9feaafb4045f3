package compat

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"
)

// maxWork bounds the comparison of two patterns, in visited instructions. It takes
// some 50 ms, and patterns for names and versions need less than a hundredth of it.
const maxWork = 2_000_000

// excluded returns a shortest string that the pattern old matches and the pattern
// new doesn't. It reports none if new matches whatever old matches, and decided is
// false if that takes too long to find out, or if a pattern isn't one of package
// regexp, which the API server uses. The answer is exact: both patterns are run side
// by side over all strings, with one character for all those that neither tells
// apart, until the pair of their states repeats.
func excluded(old, new string) (example string, some, decided bool) {
	o, n := program(old), program(new)
	if o == nil || n == nil {
		return "", false, false
	}
	type pair struct{ old, new state }
	type node struct {
		pair
		text string
	}
	work := maxWork
	alphabet := alphabetOf(o, n)
	queue := []node{{pair{state{prev: start}, state{prev: start}}, ""}}
	seen := map[string]bool{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at.old.after(o, end, &work).matched && !at.new.after(n, end, &work).matched {
			return at.text, true, true
		}
		for _, r := range alphabet {
			next := node{pair{at.old.after(o, r, &work), at.new.after(n, r, &work)}, at.text + string(r)}
			if key := fmt.Sprint(next.pair); !next.new.matched && !seen[key] {
				seen[key] = true
				queue = append(queue, next)
			}
		}
		if work < 0 {
			return "", false, false
		}
	}
	return "", false, true
}

// program compiles a pattern. It is nil if the pattern is wrong.
func program(pattern string) *syntax.Prog {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	p, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil
	}
	return p
}

// start and end stand for the characters before and after a text.
const start, end rune = -1, -1

// state is the state of a search after a part of the text: the instructions with
// which it goes on, and a character of the kind of the last one, which assertions
// such as ^ and \b look at. matched means that the pattern has matched already.
type state struct {
	matched bool
	prev    rune
	next    []uint32
}

// after returns the state after the character r, which may be [end].
func (s state) after(p *syntax.Prog, r rune, work *int) state {
	if s.matched {
		return s
	}
	context := syntax.EmptyOpContext(s.prev, r)
	out := state{prev: ' '}
	switch {
	case r == '\n':
		out.prev = r
	case syntax.IsWordChar(r):
		out.prev = 'a'
	}
	// A match may begin anywhere.
	queue := append(slices.Clone(s.next), uint32(p.Start))
	visited := map[uint32]bool{}
	for len(queue) > 0 {
		pc := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if visited[pc] {
			continue
		}
		visited[pc] = true
		*work--
		switch i := &p.Inst[pc]; i.Op {
		case syntax.InstMatch:
			return state{matched: true}
		case syntax.InstAlt, syntax.InstAltMatch:
			queue = append(queue, i.Out, i.Arg)
		case syntax.InstCapture, syntax.InstNop:
			queue = append(queue, i.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(i.Arg)&^context == 0 {
				queue = append(queue, i.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r != end && i.MatchRune(r) {
				out.next = append(out.next, i.Out)
			}
		}
	}
	slices.Sort(out.next)
	out.next = slices.Compact(out.next)
	return out
}

// alphabetOf returns one character of each set of characters that the programs
// don't tell apart, letters and digits first.
func alphabetOf(programs ...*syntax.Prog) []rune {
	// Each set begins at one of these.
	begins := []rune{0, '\n', '\n' + 1, 0xD800, 0xE000}
	add := func(lo, hi rune) { begins = append(begins, lo, hi+1) }
	for _, word := range []string{"09", "AZ", "__", "az"} {
		add(rune(word[0]), rune(word[1]))
	}
	for _, p := range programs {
		for _, i := range p.Inst {
			if i.Op != syntax.InstRune && i.Op != syntax.InstRune1 {
				continue
			}
			if len(i.Rune) == 1 {
				add(i.Rune[0], i.Rune[0])
				for r := unicode.SimpleFold(i.Rune[0]); r != i.Rune[0]; r = unicode.SimpleFold(r) {
					add(r, r)
				}
			}
			for k := 0; k+1 < len(i.Rune); k += 2 {
				add(i.Rune[k], i.Rune[k+1])
			}
		}
	}
	slices.Sort(begins)
	var plain, others []rune
	for _, r := range slices.Compact(begins) {
		switch {
		case r > unicode.MaxRune || 0xD800 <= r && r < 0xE000: // no character
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			plain = append(plain, r)
		default:
			others = append(others, r)
		}
	}
	return append(plain, others...)
}
