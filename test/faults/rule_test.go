package faults

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRulesMatch(t *testing.T) {
	request := Request{Verb: "apply", Resource: "deployments.apps", Namespace: "ns", Name: "web", UserAgent: "pequod/v1 (linux)"}
	tests := []struct {
		name string
		rule Rule
		want bool
	}{
		{"everything", Rule{}, true},
		{"all of it", Rule{Verbs: []string{"get", "apply"}, Resources: []string{"deployments.apps"}, Namespaces: []string{"ns"}, Names: []string{"web"}, UserAgent: "pequod/"}, true},
		{"another verb", Rule{Verbs: []string{"patch"}}, false},
		{"another resource", Rule{Resources: []string{"deployments.apps/status"}}, false},
		{"another namespace", Rule{Namespaces: []string{"other"}}, false},
		{"another name", Rule{Names: []string{"webs"}}, false},
		{"another user agent", Rule{UserAgent: "kubectl/"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.rule.Faults = []Fault{Drop{}}
			if got := newRuleBook(1, []Rule{test.rule}).decide(request) != nil; got != test.want {
				t.Errorf("fires: %v", got)
			}
		})
	}
}

func TestRulesSkipAndEnd(t *testing.T) {
	book := newRuleBook(1, []Rule{
		{Verbs: []string{"get"}, Skip: 1, Times: 2, Faults: []Fault{Drop{}}},
		{Verbs: []string{"get"}, Skip: 4, Faults: []Fault{Hang{}}},
	})
	var got []Fault
	for range 6 {
		got = append(got, book.decide(Request{Verb: "get"}))
	}
	// What the first rule answered the second one never saw.
	if diff := cmp.Diff([]Fault{nil, Drop{}, Drop{}, nil, nil, nil}, got); diff != "" {
		t.Error(diff)
	}
	if got := book.decide(Request{Verb: "get"}); got != (Hang{}) {
		t.Errorf("then %v", got)
	}
}

func TestRateIsKept(t *testing.T) {
	faults := []Fault{Status{Code: 409}, Status{Code: 429}, Status{Code: 500}, Drop{}}
	book := newRuleBook(7, []Rule{{Rate: 0.2, Faults: faults}})
	const requests = 20000
	fired := map[Fault]int{}
	for i := range requests {
		// One object asked for again and again, and many asked for once.
		request := Request{Verb: "get", Resource: "pods", Name: fmt.Sprint(i)}
		if i%2 == 0 {
			request.Name = "same"
		}
		if fault := book.decide(request); fault != nil {
			fired[fault]++
		}
	}
	for _, fault := range faults {
		want := 0.2 * requests / float64(len(faults))
		if math.Abs(float64(fired[fault])-want) > want/5 {
			t.Errorf("%T%v happened %d times, want about %.0f", fault, fault, fired[fault], want)
		}
	}
}

// With the same seed the same requests meet the same faults, in whichever
// order they arrive; with another seed others do.
func TestFaultsFollowFromTheSeed(t *testing.T) {
	var requests []Request
	for i := range 200 {
		requests = append(requests, Request{Verb: "get", Resource: "pods", Name: fmt.Sprint(i % 50)})
	}
	outcome := func(seed uint64, order []Request) map[string][]bool {
		book := newRuleBook(seed, []Rule{{Rate: 0.5, Faults: []Fault{Drop{}}}})
		met := map[string][]bool{}
		for _, request := range order {
			met[request.Name] = append(met[request.Name], book.decide(request) != nil)
		}
		return met
	}
	backwards := slices.Clone(requests)
	slices.Reverse(backwards)
	if diff := cmp.Diff(outcome(1, requests), outcome(1, backwards)); diff != "" {
		t.Errorf("another order: %s", diff)
	}
	if cmp.Equal(outcome(1, requests), outcome(2, requests)) {
		t.Error("another seed changes nothing")
	}
}
