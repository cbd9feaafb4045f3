package objectdiff

import (
	"slices"
	"strconv"
	"strings"
)

// identities are the keys by which the members of a list may be told apart, the
// best first; each is used if every member has them and no two share them. They
// are the merge keys of k8s.io/api (patchMergeKey and listMapKey), which a test
// holds against its source, with the exceptions noted here; for lists that
// aren't known there, the names that APIs commonly use.
func identities(list string) [][]string {
	switch list {
	case "ports":
		// A port's number is what changes; people tell ports apart by name.
		return [][]string{{"name"}, {"containerPort", "protocol"}, {"port", "protocol"}}
	case "volumeMounts":
		return [][]string{{"mountPath"}}
	case "volumeDevices":
		return [][]string{{"devicePath"}}
	case "hostAliases", "podIPs", "hostIPs":
		return [][]string{{"ip"}}
	case "topologySpreadConstraints":
		return [][]string{{"topologyKey"}, {"topologyKey", "whenUnsatisfiable"}}
	case "conditions", "addresses":
		return [][]string{{"type"}}
	case "ownerReferences":
		return [][]string{{"uid"}}
	case "volumeClaimTemplates":
		return [][]string{{"metadata.name"}}
	case "subjects":
		return [][]string{{"kind", "namespace", "name"}}
	case "rules": // of an Ingress; a Role's have no host
		return [][]string{{"host"}}
	case "paths":
		return [][]string{{"path"}}
	case "readinessGates":
		return [][]string{{"conditionType"}}
	}
	return [][]string{{"name"}, {"id"}, {"key"}, {"type"}}
}

// optional key values and what they stand for where they are left out.
func impliedValue(key string) (string, bool) {
	switch key {
	case "protocol":
		return "TCP", true
	case "namespace":
		return "", true
	}
	return "", false
}

// named gives the members of both lists by name, if they have names.
func named(list string, a, b []any) (x, y []item, ok bool) {
	for _, keys := range identities(list) {
		x, ok = items(keys, a)
		if !ok {
			continue
		}
		if y, ok = items(keys, b); ok {
			return x, y, true
		}
	}
	return nil, nil, false
}

func items(keys []string, list []any) ([]item, bool) {
	var found []item
	seen := map[string]bool{}
	for _, member := range list {
		m, ok := member.(map[string]any)
		if !ok {
			return nil, false
		}
		it := item{keys: keys}
		for _, key := range keys {
			v, ok := identity(m, key)
			if !ok {
				return nil, false
			}
			it.values = append(it.values, v)
		}
		if id := it.String(); seen[id] {
			return nil, false
		} else {
			seen[id] = true
		}
		found = append(found, it)
	}
	return found, true
}

// identity reads the value of a key, which may lead into a map.
func identity(m map[string]any, key string) (string, bool) {
	var v any = m
	for k := range strings.SplitSeq(key, ".") {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case nil:
		return impliedValue(key)
	}
	return "", false
}

// maxTable bounds the table of a longest common subsequence; past it, lists are
// compared place by place.
const maxTable = 1 << 22

// pair says which members of two lists stand for each other; -1 is none.
type pair struct{ old, new int }

// align pairs the members of lists without names: equal ones by a longest common
// subsequence, in what lies between those that are much alike, and of the rest
// the first with the first.
func align(a, b []any) []pair {
	x, y := make([]string, len(a)), make([]string, len(b))
	for i := range a {
		x[i] = canonical(a[i])
	}
	for i := range b {
		y[i] = canonical(b[i])
	}
	var pairs []pair
	var i, j int
	for _, c := range append(common(x, y), pair{len(a), len(b)}) {
		for _, p := range likely(a[i:c.old], b[j:c.new]) {
			pairs = append(pairs, p.shift(i, j))
		}
		if c.old < len(a) {
			pairs = append(pairs, c)
		}
		i, j = c.old+1, c.new+1
	}
	return pairs
}

func (p pair) shift(i, j int) pair {
	if p.old >= 0 {
		p.old += i
	}
	if p.new >= 0 {
		p.new += j
	}
	return p
}

// maxLikely bounds the pairs of members whose likeness is looked at.
const maxLikely = 2500

// likely pairs members that have no equal: in order, so that as much as possible
// is alike.
func likely(a, b []any) []pair {
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > maxLikely || len(a) == 1 && len(b) == 1 {
		return inOrder(0, len(a), 0, len(b))
	}
	likeness := make([][]float64, len(a))
	best := make([][]float64, len(a)+1)
	best[len(a)] = make([]float64, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		likeness[i], best[i] = make([]float64, len(b)), make([]float64, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			likeness[i][j] = alikeness(a[i], b[j])
			best[i][j] = max(best[i+1][j], best[i][j+1], best[i+1][j+1]+likeness[i][j])
		}
	}
	var pairs []pair
	fromI, fromJ := 0, 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case likeness[i][j] > 0 && best[i][j] == best[i+1][j+1]+likeness[i][j]:
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

// inOrder pairs the first with the first.
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

// alikeness of two members: the part of their values that they share, or 0 if it
// is less than half. Texts such as --flag=value are alike by their flag.
func alikeness(a, b any) float64 {
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

// common gives a longest common subsequence.
func common(x, y []string) []pair {
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
