package share

import (
	"context"
	"sync"
	"time"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
)

// Account names a service account that graphs are executed as.
type Account struct{ Namespace, Name string }

// User returns the user name of the account as the API server knows it.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// identities keeps a client for each service account in use. All clients share
// one connection to the API server.
type identities struct {
	own *cluster.Client
	now func() time.Time
	// distant is set for another cluster than that of the graphs. An account there is only
	// the name of a user: that it exists is verified where the graphs are.
	distant bool

	mu    sync.Mutex
	known map[Account]*identity
	users map[Account]int // number of graphs that are executed as the account
}

// identity is the client of one account.
type identity struct {
	mu       sync.Mutex
	client   *cluster.Client // nil until it is first needed
	verified time.Time       // when the account was last known to exist
}

// verifiedFor is how long an account is assumed to exist after it was seen.
const verifiedFor = time.Minute

func newIdentities(own *cluster.Client, now func() time.Time) *identities {
	if now == nil {
		now = time.Now
	}
	return &identities{own: own, now: now, known: map[Account]*identity{}, users: map[Account]int{}}
}

// of returns the entry of an account, which it creates if there is none.
func (i *identities) of(a Account) *identity {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.known[a]
	if known == nil {
		known = &identity{}
		i.known[a] = known
	}
	return known
}

// client implements [Share.Client]. Concurrent callers for one account wait for
// one request.
func (i *identities) client(ctx context.Context, a Account, verify bool) (*cluster.Client, error) {
	known := i.of(a)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.client == nil {
		client, err := i.own.As(a.User())
		if err != nil {
			return nil, err
		}
		known.client = client
	}
	if i.distant || !verify && i.now().Sub(known.verified) < verifiedFor {
		return known.client, nil
	}
	obj, err := i.own.Get(ctx, inventory.Key{Kind: "ServiceAccount", Namespace: a.Namespace, Name: a.Name}, "v1")
	if err != nil || obj == nil || obj.GetDeletionTimestamp() != nil {
		i.mu.Lock()
		delete(i.known, a)
		i.mu.Unlock()
		return nil, err
	}
	known.verified = i.now()
	return known.client, nil
}

func (i *identities) retain(a Account) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.users[a]++
}

// drop keeps nothing of an account without graphs: accounts come and go with
// their namespaces.
func (i *identities) drop(a Account) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.users[a]--; i.users[a] <= 0 {
		delete(i.users, a)
		delete(i.known, a)
	}
}
