package faults

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// Rule selects requests and the faults that they meet. An empty field matches
// every request.
type Rule struct {
	Verbs      []string // as in Request.Verb
	Resources  []string // as in Request.Resource
	Namespaces []string
	Names      []string
	UserAgent  string // its beginning

	// Skip is the number of matching requests that pass first.
	Skip int
	// Times is the number of faults after which the rule ends; 0 means never.
	Times int
	// Rate is the share of matching requests that meet a fault, between 0 and 1;
	// 0 means all.
	Rate float64
	// Faults are the possible faults. Each is equally likely.
	Faults []Fault
}

// matches reports whether the rule applies to a request, regardless of Skip,
// Times and Rate.
func (r Rule) matches(request Request) bool {
	among := func(set []string, value string) bool { return len(set) == 0 || slices.Contains(set, value) }
	return among(r.Verbs, request.Verb) && among(r.Resources, request.Resource) &&
		among(r.Namespaces, request.Namespace) && among(r.Names, request.Name) &&
		strings.HasPrefix(request.UserAgent, r.UserAgent)
}

// ruleBook decides on faults and counts. It is not safe for concurrent use; the
// proxy guards it.
type ruleBook struct {
	seed    uint64
	rules   []Rule
	matched []int          // by rule
	fired   []int          // by rule
	seen    map[string]int // how often a request was seen that looked the same
}

// newRuleBook returns a book in which no request was seen yet.
func newRuleBook(seed uint64, rules []Rule) *ruleBook {
	return &ruleBook{
		seed:    seed,
		rules:   slices.Clone(rules),
		matched: make([]int, len(rules)),
		fired:   make([]int, len(rules)),
		seen:    map[string]int{},
	}
}

// decide returns the fault for a request, or nil if the request may pass.
//
// A rule that matches may still let the request pass: it skips the first ones,
// has ended, or the dice decide. Then the next rule is asked. The dice depend on
// the look of the request and how often that look was seen, not on other
// requests. So a request that is sent again after a fault has new dice.
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
		// The upper 53 bits, divided by 2^53, are a number from 0 to 1,
		// exclusive.
		dice := roll(b.seed, i, look, b.seen[look])
		if rule.Rate > 0 && float64(dice>>11)/(1<<53) >= rule.Rate {
			continue
		}
		b.fired[i]++
		return rule.Faults[roll(dice, i, "fault", 0)%uint64(len(rule.Faults))]
	}
	return nil
}

// roll returns a pseudo-random number that depends only on its arguments.
func roll(seed uint64, rule int, look string, occurrence int) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %d %s %d", seed, rule, look, occurrence)
	// The last bytes of the input change only a few bits of an FNV hash. The
	// finalizer of MurmurHash3 spreads them.
	mixed := hash.Sum64()
	mixed ^= mixed >> 33
	mixed *= 0xff51afd7ed558ccd
	mixed ^= mixed >> 33
	mixed *= 0xc4ceb9fe1a85ec53
	return mixed ^ mixed>>33
}
