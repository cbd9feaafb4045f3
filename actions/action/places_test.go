package action

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestPlaces lets Actions of some namespaces come and leave at random. A server never has more than its places,
// and each Action that waits gets a place.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var woken []types.NamespacedName
		p := newPlaces(func(name types.NamespacedName) { woken = append(woken, name) })
		action := func(namespace string, i int) (types.NamespacedName, string) {
			return types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}, fmt.Sprint("server-", i%7)
		}
		in, waits := map[types.NamespacedName]string{}, map[types.NamespacedName]string{}
		enter := func(name types.NamespacedName, server string) {
			if p.enter(name, server) {
				in[name] = server
				delete(waits, name)
				return
			}
			waits[name] = server
			p.leave(name, true)
		}
		check := func() {
			t.Helper()
			at := map[string]int{}
			for _, server := range in {
				if at[server]++; at[server] > perServer {
					t.Fatalf("seed %d: %d Actions at %s", seed, at[server], server)
				}
			}
		}
		for i := range 400 {
			name, server := action(fmt.Sprint("ns-", r.IntN(3)), i)
			enter(name, server)
			check()
			if r.IntN(2) == 0 {
				for name := range in { // at random
					delete(in, name)
					p.leave(name, false)
					break
				}
			}
			for len(woken) > 0 {
				name := woken[0]
				woken = woken[1:]
				server, waited := waits[name]
				if !waited {
					t.Fatalf("seed %d: %s was woken and didn't wait", seed, name)
				}
				if enter(name, server); in[name] == "" {
					t.Fatalf("seed %d: %s was woken and has no place", seed, name)
				}
				check()
			}
		}
		for len(in) > 0 {
			for name := range in {
				delete(in, name)
				p.leave(name, false)
			}
			for _, name := range woken {
				enter(name, waits[name])
			}
			woken = nil
			check()
		}
		if len(waits) > 0 || len(p.held)+len(p.servers)+len(p.namespaces)+len(p.waiting) > 0 {
			t.Fatalf("seed %d: left over: %d Actions, %+v", seed, len(waits), p)
		}
	}
}

// TestPlacesAreShared has namespaces whose servers all hang. Another one always has a place at once.
func TestPlacesAreShared(t *testing.T) {
	t.Parallel()
	p := newPlaces(func(types.NamespacedName) {})
	for n := range 5 {
		for i := range 2 * atServers {
			p.enter(types.NamespacedName{Namespace: fmt.Sprint("hostile-", n), Name: fmt.Sprint(i)}, fmt.Sprint("server-", n, "-", i))
		}
		if !p.enter(types.NamespacedName{Namespace: fmt.Sprint("healthy-", n), Name: "a"}, "healthy") {
			t.Errorf("no place beside %d namespaces, which have %v", n+1, p.namespaces)
		}
		p.leave(types.NamespacedName{Namespace: fmt.Sprint("healthy-", n), Name: "a"}, false)
	}
	// An Action that waits for a server behind many of another namespace is the next one.
	woken := ""
	p = newPlaces(func(name types.NamespacedName) { woken = name.Namespace })
	for i := range 50 {
		p.enter(types.NamespacedName{Namespace: "many", Name: fmt.Sprint(i)}, "one")
	}
	p.enter(types.NamespacedName{Namespace: "few", Name: "a"}, "one")
	if p.leave(types.NamespacedName{Namespace: "many", Name: "0"}, false); woken != "few" {
		t.Errorf("the next one is of %q", woken)
	}
}
