package objectdiff

import (
	"slices"
	"strings"
)

// maxTable limits the table that a longest common subsequence needs, in entries
// of four bytes. So a table takes at most 16 MiB. Members of larger lists are
// paired by index.
const maxTable = 1 << 22

// pair has the indexes of two members, one of each list, that are compared with each
// other. -1 means that the member has no counterpart.
type pair struct{ old, new int }

// align pairs the members of lists without keys, in three steps: equal members by
// a longest common subsequence, then similar members between those, and then the
// rest in order. For the arguments
//
//	[--a=1, --b=2, --c=3]  and  [--a=1, --x, --c=4]
//
// the pairs are --a=1 with itself, --b=2 with --x because both are left over, and
// --c=3 with --c=4 because they set the same flag.
//
// The pairs are in the order of both lists. Every member is in exactly one pair.
func align(a, b []any) []pair {
	x, y := make([]string, len(a)), make([]string, len(b))
	for i := range a {
		x[i] = canonical(a[i])
	}
	for i := range b {
		y[i] = canonical(b[i])
	}
	// Between two neighboring pairs of the subsequence, no members are equal. The pair
	// of the lengths stands for the end of both lists.
	var pairs []pair
	var i, j int
	for _, c := range append(commonSubsequence(x, y), pair{len(a), len(b)}) {
		for _, p := range alignSimilar(a[i:c.old], b[j:c.new]) {
			pairs = append(pairs, p.shift(i, j))
		}
		if c.old < len(a) {
			pairs = append(pairs, c)
		}
		i, j = c.old+1, c.new+1
	}
	return pairs
}

// shift adds offsets to the indexes of a pair of sublists.
func (p pair) shift(i, j int) pair {
	if p.old >= 0 {
		p.old += i
	}
	if p.new >= 0 {
		p.new += j
	}
	return p
}

// maxSimilarPairs limits the pairs of members whose similarity is computed: two
// lists of 50 members each. Similarity walks both members, so it is far more
// expensive than comparing canonical texts.
const maxSimilarPairs = 2500

// alignSimilar pairs the members of two lists in order, so that the sum of the
// similarities of all pairs is largest. If the lists are too long, it pairs by
// index. It does the same for one member on each side, which can only be a pair.
func alignSimilar(a, b []any) []pair {
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > maxSimilarPairs || len(a) == 1 && len(b) == 1 {
		return inOrder(0, len(a), 0, len(b))
	}
	score := make([][]float64, len(a))
	best := make([][]float64, len(a)+1) // best[i][j] is the largest sum for a[i:] and b[j:]
	best[len(a)] = make([]float64, len(b)+1)
	// Fill the table from the end: either a[i] or b[j] has no counterpart, or they are a
	// pair.
	for i := len(a) - 1; i >= 0; i-- {
		score[i], best[i] = make([]float64, len(b)), make([]float64, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			score[i][j] = memberSimilarity(a[i], b[j])
			best[i][j] = max(best[i+1][j], best[i][j+1], best[i+1][j+1]+score[i][j])
		}
	}
	// Follow the largest sums from the start. Members between two similar pairs are
	// paired in order.
	var pairs []pair
	fromI, fromJ := 0, 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case score[i][j] > 0 && best[i][j] == best[i+1][j+1]+score[i][j]:
			pairs = append(pairs, inOrder(fromI, i, fromJ, j)...)
			pairs = append(pairs, pair{i, j})
			i, j = i+1, j+1
			fromI, fromJ = i, j
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	return append(pairs, inOrder(fromI, len(a), fromJ, len(b))...)
}

// inOrder pairs a[i:toI] with b[j:toJ] by index; the rest of the longer one has no
// counterpart.
func inOrder(i, toI, j, toJ int) []pair {
	var pairs []pair
	for ; i < toI || j < toJ; i, j = i+1, j+1 {
		p := pair{-1, -1}
		if i < toI {
			p.old = i
		}
		if j < toJ {
			p.new = j
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// memberSimilarity returns the similarity of two members, or 0 if it is less than
// a half. Strings are similar only if they set the same flag, as in --flag=value.
// Below a half, a change of nearly every field is harder to read than a removed
// and an added member.
func memberSimilarity(a, b any) float64 {
	x, ok := a.(string)
	y, ok2 := b.(string)
	if ok && ok2 {
		flag, _, ok := strings.Cut(x, "=")
		other, _, ok2 := strings.Cut(y, "=")
		if ok && ok2 && flag == other {
			return 1
		}
		return 0
	}
	if s := similarity(factsOf("", a), factsOf("", b)); s >= 0.5 {
		return s
	}
	return 0
}

// commonSubsequence returns a longest common subsequence, without the part that would
// need too large a table. Equal members at both ends need no table.
func commonSubsequence(x, y []string) []pair {
	var head, tail []pair
	start := 0
	for start < len(x) && start < len(y) && x[start] == y[start] {
		head = append(head, pair{start, start})
		start++
	}
	m, n := len(x), len(y)
	for m > start && n > start && x[m-1] == y[n-1] {
		m, n = m-1, n-1
		tail = append(tail, pair{m, n})
	}
	slices.Reverse(tail)
	// length[i][j] is the length of the longest common subsequence of x[i:m] and y[j:n].
	w := n - start + 1
	if (m-start+1)*w > maxTable {
		return append(head, tail...)
	}
	length := make([]int32, (m-start+1)*w)
	at := func(i, j int) *int32 { return &length[(i-start)*w+j-start] }
	for i := m - 1; i >= start; i-- {
		for j := n - 1; j >= start; j-- {
			if x[i] == y[j] {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	// Follow the table from the start. If either a member of x or one of y may be
	// skipped, skip the one of x.
	for i, j := start, start; i < m && j < n; {
		switch {
		case x[i] == y[j]:
			head = append(head, pair{i, j})
			i, j = i+1, j+1
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
	return append(head, tail...)
}
