package objectdiff

import (
	"reflect"
	"strings"
)

// maxAlignTable limits the table of align, in entries of 16 bytes. So a table takes
// at most 16 MiB. Members of larger lists are paired by index.
const maxAlignTable = 1 << 20

// maxSimilarPairs limits the pairs of members whose similarity is computed: two
// lists of 100 members each. Similarity walks both members, so it is far more
// expensive than a comparison. In larger lists, only equal members are
// recognized.
const maxSimilarPairs = 10_000

// pair has the indexes of two members, one of each list, that are compared with each
// other. -1 means that the member has no counterpart.
type pair struct{ old, new int }

// align pairs the members of lists without keys, so that the sum of the scores of
// all pairs is largest; see listMember.score. For the arguments
//
//	[--a=1, --b=2, --c=3]  and  [--a=1, --x, --c=4]
//
// the pairs are --a=1 with itself, --b=2 with --x because both are left over, and
// --c=3 with --c=4 because they set the same flag.
//
// The pairs are in the order of both lists. Every member is in exactly one pair.
func align(a, b []any) []pair {
	similar := len(a)*len(b) <= maxSimilarPairs
	x, y := listMembers(a, similar), listMembers(b, similar)
	// Equal members at both ends need no table.
	var pairs []pair
	head, m, n := 0, len(a), len(b)
	for ; head < m && head < n && x[head].equal(y[head]); head++ {
		pairs = append(pairs, pair{head, head})
	}
	for m > head && n > head && x[m-1].equal(y[n-1]) {
		m, n = m-1, n-1
	}
	i, j := head, head
	if width := n - head + 1; (m-head+1)*width <= maxAlignTable {
		// A cell has the score of x[i] and y[j], and the largest sum for x[i:m] and y[j:n].
		type cell struct{ score, sum float64 }
		cells := make([]cell, (m-head+1)*width)
		at := func(i, j int) *cell { return &cells[(i-head)*width+j-head] }
		for i := m - 1; i >= head; i-- {
			for j := n - 1; j >= head; j-- {
				c := at(i, j)
				c.score = x[i].score(y[j])
				c.sum = max(at(i+1, j).sum, at(i, j+1).sum, at(i+1, j+1).sum+c.score)
			}
		}
		// Follow the largest sums from the start.
		for i < m && j < n {
			switch c := at(i, j); c.sum {
			case at(i+1, j+1).sum + c.score:
				pairs = append(pairs, pair{i, j})
				i, j = i+1, j+1
			case at(i+1, j).sum:
				pairs = append(pairs, pair{i, -1})
				i++
			default:
				pairs = append(pairs, pair{-1, j})
				j++
			}
		}
	}
	// The rest: members without a counterpart, and lists that are too long.
	for ; i < m || j < n; i, j = i+1, j+1 {
		p := pair{-1, -1}
		if i < m {
			p.old = i
		}
		if j < n {
			p.new = j
		}
		pairs = append(pairs, p)
	}
	for ; m < len(a); m, n = m+1, n+1 {
		pairs = append(pairs, pair{m, n})
	}
	return pairs
}

// listMember is a member of a list without keys.
type listMember struct {
	value any
	facts []fact // nil in lists that are too long for similarity
}

// listMembers returns the members of a list, with facts if similar is set.
func listMembers(list []any, similar bool) []listMember {
	members := make([]listMember, len(list))
	for i, v := range list {
		members[i] = listMember{value: v}
		if similar {
			members[i].facts = factsOf("", v)
		}
	}
	return members
}

// equal reports whether two members are equal.
func (m listMember) equal(other listMember) bool { return reflect.DeepEqual(m.value, other.value) }

// score returns 2 for equal members, and for similar ones their similarity, which is
// at least a half. Strings are similar only if they set the same flag, as in
// --flag=value. Below a half, a change of nearly every field is harder to read than
// a removed and an added member. All other pairs have a score so small that they
// only form between the pairs of equal and similar members.
func (m listMember) score(other listMember) float64 {
	const unlike = 1e-6
	if m.equal(other) {
		return 2
	}
	x, ok := m.value.(string)
	y, ok2 := other.value.(string)
	if ok && ok2 {
		flag, _, ok := strings.Cut(x, "=")
		other, _, ok2 := strings.Cut(y, "=")
		if ok && ok2 && flag == other {
			return 1
		}
		return unlike
	}
	if s := similarity(m.facts, other.facts); s >= 0.5 {
		return s
	}
	return unlike
}
