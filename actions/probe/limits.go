package probe

import (
	"context"
	"errors"
	"sync"
)

// The numbers of requests that may be in flight: to one server, and to all.
const (
	perServer = 4
	maxFlight = 256
)

// errBusy is the error of a request that got no turn.
var errBusy = errors.New("other polls of the server are still in flight")

// limits bounds the requests in flight. A request takes the turn of its server first, so those
// that wait for a server that hangs don't use up the turns of others. The zero value is ready.
type limits struct {
	mu      sync.Mutex
	servers map[string]*turns
	all     chan struct{}
}

// turns are the requests to one server.
type turns struct {
	free  chan struct{}
	users int // that have a turn or wait for one
}

// take waits for a turn. The caller must call done.
func (l *limits) take(ctx context.Context, server string) (done func(), err error) {
	l.mu.Lock()
	if l.servers == nil {
		l.servers, l.all = map[string]*turns{}, make(chan struct{}, maxFlight)
	}
	t := l.servers[server]
	if t == nil {
		t = &turns{free: make(chan struct{}, perServer)}
		l.servers[server] = t
	}
	t.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(l.servers, server)
		}
	}
	select {
	case t.free <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil, errBusy
	}
	select {
	case l.all <- struct{}{}:
	case <-ctx.Done():
		<-t.free
		leave()
		return nil, errBusy
	}
	return func() { <-l.all; <-t.free; leave() }, nil
}
