package cluster

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// dialTimeout is how long a distant cluster may take to accept a connection.
const dialTimeout = 5 * time.Second

// NewDistant returns a client for a cluster that isn't trusted and may be away, such as
// one whose kubeconfig a tenant wrote. It differs from [New] in that:
//
//   - requests fail at once while the cluster doesn't answer, see gate;
//   - errors of the network don't show where the cluster is: name stands for it;
//   - it follows no redirects, and answers are limited, each by its size and all in the room together, in which they
//     belong to an owner;
//   - its connections aren't shared with other clients, and [Client.Close] ends them.
func NewDistant(config *rest.Config, name string, room *Room, owner string) (*Client, error) {
	config = dynamic.ConfigFor(config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	config.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	// client-go caches the transport of a configuration without Proxy.
	config.Proxy = http.ProxyFromEnvironment
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	return NewForConfigAndClient(config, &http.Client{
		Transport:     &gate{next: transport, name: name, room: room, owner: owner},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
}

// gate is the transport to a distant cluster. After a request that got no answer, requests
// fail at once for a while, and then until one of them was answered: requests that wait
// would occupy the room of those to other clusters.
type gate struct {
	next  http.RoundTripper
	name  string // of the cluster, for errors
	room  *Room
	owner string

	mu       sync.Mutex
	answered time.Time // the last answer
	failed   time.Time // the last failure that counted
	failures int       // in a row
	cause    string    // of the last failure that counted
	shut     time.Time // no request passes before
}

const (
	// maxShut is the longest time for which no request passes.
	maxShut = 30 * time.Second
	// trial is how long others wait for the answer to the first request that passes.
	trial = 10 * time.Second
)

// RoundTrip implements [http.RoundTripper].
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	if cause, shut := g.enter(began); shut {
		if r.Body != nil {
			_ = r.Body.Close() // it isn't read
		}
		return nil, &UnreachableError{g.name, cause}
	}
	send := g.next.RoundTrip
	if r.URL.Query().Get("watch") == "" {
		send = func(r *http.Request) (*http.Response, error) { return g.room.send(g.next, g.owner, r) }
	}
	answer, err := send(r)
	g.leave(began, err)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, &UnreachableError{g.name, distantCause(err)}
	}
	return answer, nil
}

// enter reports whether a request has to fail at once, and the cause of the failure before.
func (g *gate) enter(now time.Time) (cause string, shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failures == 0 {
		return "", false
	}
	if now.Before(g.shut) {
		return g.cause, true
	}
	g.shut = now.Add(trial)
	return "", false
}

// leave notes the end of a request. A failure doesn't count if others were answered
// meanwhile: then the request was slow, and not the cluster away. Of requests that waited
// together, one counts.
func (g *gate) leave(began time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		g.answered, g.failures = now, 0
	case errors.Is(err, context.Canceled):
		g.shut = now
	case !g.answered.After(began) && !g.failed.After(began):
		g.shut = now.Add(min(time.Second<<min(g.failures, 10), maxShut))
		g.failed, g.cause = now, distantCause(err)
		g.failures++
	}
}

// distantCause is networkCause without names and addresses.
func distantCause(err error) string {
	var (
		errno   syscall.Errno
		dns     *net.DNSError
		timeout net.Error
	)
	switch {
	case errors.As(err, &dns):
		return "its name can't be resolved"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it doesn't answer"
	}
	return "the connection failed, or its certificate isn't trusted"
}

// Close ends the connections that aren't in use.
func (c *Client) Close() {
	if g, ok := c.http.Transport.(*gate); ok {
		utilnet.CloseIdleConnectionsFor(g.next)
	}
}
