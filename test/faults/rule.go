package faults

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// Rule says which requests meet which faults. A field that is empty matches
// everything.
type Rule struct {
	Verbs      []string // as in Request.Verb
	Resources  []string // as in Request.Resource
	Namespaces []string
	Names      []string
	UserAgent  string // its beginning

	// Skip lets that many matching requests pass first.
	Skip int
	// Times ends the rule after that many faults; 0 is without end.
	Times int
	// Rate is the share of matching requests that meet a fault; 0 is all.
	Rate float64
	// Faults are what happens, one of them chosen evenly.
	Faults []Fault
}

func (r Rule) matches(request Request) bool {
	among := func(set []string, value string) bool { return len(set) == 0 || slices.Contains(set, value) }
	return among(r.Verbs, request.Verb) && among(r.Resources, request.Resource) &&
		among(r.Namespaces, request.Namespace) && among(r.Names, request.Name) &&
		strings.HasPrefix(request.UserAgent, r.UserAgent)
}

// ruleBook decides what happens to requests. It isn't safe for concurrent use.
type ruleBook struct {
	seed    uint64
	rules   []Rule
	matched []int          // by rule
	fired   []int          // by rule
	seen    map[string]int // how often a request was seen that looked the same
}

func newRuleBook(seed uint64, rules []Rule) *ruleBook {
	return &ruleBook{
		seed:    seed,
		rules:   slices.Clone(rules),
		matched: make([]int, len(rules)),
		fired:   make([]int, len(rules)),
		seen:    map[string]int{},
	}
}

// decide is the fault that a request meets, nil if it may pass.
func (b *ruleBook) decide(request Request) Fault {
	if len(b.rules) == 0 {
		return nil
	}
	look := fmt.Sprintf("%s %s %s/%s %s %v", request.Verb, request.Resource, request.Namespace, request.Name, request.UserAgent, request.DryRun)
	b.seen[look]++
	for i, rule := range b.rules {
		if len(rule.Faults) == 0 || !rule.matches(request) {
			continue
		}
		b.matched[i]++
		if b.matched[i] <= rule.Skip || rule.Times > 0 && b.fired[i] >= rule.Times {
			continue
		}
		dice := roll(b.seed, i, look, b.seen[look])
		if rule.Rate > 0 && float64(dice>>11)/(1<<53) >= rule.Rate {
			continue
		}
		b.fired[i]++
		return rule.Faults[roll(dice, i, "fault", 0)%uint64(len(rule.Faults))]
	}
	return nil
}

// roll is a number, evenly spread, that depends on all its arguments and nothing else.
func roll(seed uint64, rule int, look string, occurrence int) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %d %s %d", seed, rule, look, occurrence)
	// The last bytes change few bits of this hash; a finaliser spreads them.
	mixed := hash.Sum64()
	mixed ^= mixed >> 33
	mixed *= 0xff51afd7ed558ccd
	mixed ^= mixed >> 33
	mixed *= 0xc4ceb9fe1a85ec53
	return mixed ^ mixed>>33
}
