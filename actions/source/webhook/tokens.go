package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// How long a token is used without reading it again, and how soon it is read again because a
// request doesn't fit it.
const (
	tokenTTL   = time.Minute
	tokenPause = 10 * time.Second
)

// Secrets reads Secrets as a service account.
type Secrets interface {
	Secret(ctx context.Context, namespace, account, name string) (map[string][]byte, error)
}

// Token reads the token of a Receiver.
func Token(ctx context.Context, secrets Secrets, r *v1alpha1.Receiver) ([]byte, error) {
	name := r.Spec.Source.Webhook.SecretRef.Name
	data, err := secrets.Secret(ctx, r.Namespace, r.Spec.ServiceAccountName, name)
	if err != nil {
		return nil, fmt.Errorf("secret %s: %s", name, identity.Reason(err))
	}
	token := data["token"]
	if len(token) < MinToken {
		return nil, fmt.Errorf("secret %s: its key token has %d bytes, not at least %d", name, len(token), MinToken)
	}
	return token, nil
}

// tokens remember the tokens of Receivers for a while, so that requests of strangers don't become
// requests to the API server.
type tokens struct {
	secrets Secrets
	now     func() time.Time

	mu sync.Mutex
	of *lru.Cache
}

func newTokens(secrets Secrets, now func() time.Time) *tokens {
	return &tokens{secrets: secrets, now: now, of: lru.New(maxKnown)}
}

// known is the token of one generation of a Receiver.
type known struct {
	mu     sync.Mutex // is held while the token is read, so that it is read once
	token  []byte
	err    error
	readAt time.Time
}

// get returns the token of a Receiver. If again is set, the last one didn't fit a request.
func (t *tokens) get(ctx context.Context, r *v1alpha1.Receiver, again bool) ([]byte, error) {
	key := fmt.Sprintf("%s %d", r.UID, r.Generation)
	t.mu.Lock()
	value, ok := t.of.Get(key)
	if !ok {
		value = &known{}
		t.of.Add(key, value)
	}
	t.mu.Unlock()
	k := value.(*known)
	k.mu.Lock()
	defer k.mu.Unlock()
	ttl := tokenTTL
	if again {
		ttl = tokenPause
	}
	if k.err != nil {
		ttl = time.Second
	}
	if !k.readAt.IsZero() && t.now().Sub(k.readAt) < ttl {
		return k.token, k.err
	}
	k.token, k.err = Token(ctx, t.secrets, r)
	k.readAt = t.now()
	return k.token, k.err
}
