package controller

import (
	"context"
	"sync"
	"time"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
)

// identities are the service accounts that graphs are executed as. They share
// one connection to the API server.
type identities struct {
	own *cluster.Client

	mu    sync.Mutex
	known map[account]*identity
	users map[account]int // graphs that are executed as it
}

// account names a service account.
type account struct{ namespace, name string }

// user is the account as the API server knows it.
func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

type identity struct {
	mu     sync.Mutex
	client *cluster.Client
	seen   time.Time // when the account was last known to exist
}

// trusted is how long an account counts as existing after it was seen.
const trusted = time.Minute

func newIdentities(own *cluster.Client) *identities {
	return &identities{own: own, known: map[account]*identity{}, users: map[account]int{}}
}

// of is what is known of an account.
func (i *identities) of(a account) *identity {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.known[a]
	if known == nil {
		known = &identity{}
		i.known[a] = known
	}
	return known
}

// as gives the client of an account, nil if there is no such account. Surely
// says to ask, whatever is remembered.
func (i *identities) as(ctx context.Context, a account, surely bool) (*cluster.Client, error) {
	known := i.of(a)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.client == nil {
		client, err := i.own.As(a.user())
		if err != nil {
			return nil, err
		}
		known.client = client
	}
	if !surely && time.Since(known.seen) < trusted {
		return known.client, nil
	}
	obj, err := i.own.Get(ctx, inventory.Key{Kind: "ServiceAccount", Namespace: a.namespace, Name: a.name}, "v1")
	if err != nil || obj == nil || obj.GetDeletionTimestamp() != nil {
		i.mu.Lock()
		delete(i.known, a)
		i.mu.Unlock()
		return nil, err
	}
	known.seen = time.Now()
	return known.client, nil
}

// hold notes that a graph is executed as an account.
func (i *identities) hold(a account) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.users[a]++
}

// drop takes that back. Without a graph nothing is kept of an account: they come
// and go with their namespaces.
func (i *identities) drop(a account) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.users[a]--; i.users[a] <= 0 {
		delete(i.users, a)
		delete(i.known, a)
	}
}

// actAs notes the name of the account that the graph is executed as, "" for none
// any more.
func (d *driver) actAs(name string) {
	if name == d.account {
		return
	}
	if d.account != "" {
		d.c.identities.drop(account{d.key.Namespace, d.account})
	}
	if d.account = name; name != "" {
		d.c.identities.hold(account{d.key.Namespace, name})
	}
}
