package share

import "testing"

// The client of an account is kept as long as a graph is executed as it.
func TestIdentitiesAreDropped(t *testing.T) {
	i := newIdentities(nil, nil)
	account, other := Account{"shop", "pequod"}, Account{"shop", "other"}
	for range 2 { // graphs
		i.of(account)
		i.retain(account)
	}
	i.drop(account)
	i.of(other)
	i.retain(other)
	if i.known[account] == nil || i.known[other] == nil {
		t.Errorf("known: %v", i.known)
	}
	i.drop(other)
	i.drop(account)
	if len(i.known) != 0 || len(i.users) != 0 {
		t.Errorf("known without a graph: %v, %v", i.known, i.users)
	}
}
