package action

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// The numbers of Actions that may be in a step at a server, which can take until [timeout]: at one server,
// and at all.
const (
	perServer = 4
	atServers = 256
)

// places are those of Actions at servers. An Action without one waits without a worker. A server that
// hangs keeps its own places only, and a namespace leaves half of those that are free to others.
type places struct {
	wake func(types.NamespacedName)

	mu         sync.Mutex
	held       map[types.NamespacedName]string // the servers, by Action
	servers    map[string]int
	namespaces map[string]int
	// waiting are the Actions that wait, in their order.
	waiting []waiter
}

// waiter is an Action that waits for a place at a server.
type waiter struct {
	action types.NamespacedName
	server string
	since  time.Time
}

func newPlaces(wake func(types.NamespacedName)) *places {
	return &places{wake: wake, held: map[types.NamespacedName]string{}, servers: map[string]int{}, namespaces: map[string]int{}}
}

// enter reports whether an Action has a place at a server. Otherwise it is woken when it has one.
func (p *places) enter(action types.NamespacedName, server string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	has, held := p.held[action]
	if held && has != server {
		p.free(action)
		held = false
	}
	at := slices.IndexFunc(p.waiting, func(w waiter) bool { return w.action == action })
	switch {
	case held:
	case at >= 0:
		p.waiting[at].server = server
		return false
	case !p.open(action.Namespace, server):
		p.waiting = append(p.waiting, waiter{action, server, time.Now()})
		return false
	default:
		p.take(action, server)
	}
	return true
}

// waited returns how long an Action has been waiting.
func (p *places) waited(action types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.waiting {
		if w.action == action {
			return time.Since(w.since)
		}
	}
	return 0
}

// leave gives up the place of an Action, and gives it to one that waits. An Action that waits is
// forgotten unless it still wants a place.
func (p *places) leave(action types.NamespacedName, waits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !waits {
		p.free(action)
		p.waiting = slices.DeleteFunc(p.waiting, func(w waiter) bool { return w.action == action })
	}
	for {
		next := p.next()
		if next < 0 {
			return
		}
		w := p.waiting[next]
		p.waiting = slices.Delete(p.waiting, next, next+1)
		p.take(w.action, w.server)
		p.wake(w.action)
	}
}

// next returns the index of the Action that gets the next place, or -1: the first one of the namespace
// with the fewest.
func (p *places) next() int {
	found := -1
	for i, w := range p.waiting {
		if (found < 0 || p.namespaces[w.action.Namespace] < p.namespaces[p.waiting[found].action.Namespace]) && p.open(w.action.Namespace, w.server) {
			found = i
		}
	}
	return found
}

// open reports whether an Action of a namespace may have a place at a server. The server "" is the API
// server.
func (p *places) open(namespace, server string) bool {
	return (server == "" || p.servers[server] < perServer) && p.namespaces[namespace] < max(1, (atServers-len(p.held)+p.namespaces[namespace])/2) && len(p.held) < atServers
}

func (p *places) take(action types.NamespacedName, server string) {
	p.held[action] = server
	p.servers[server]++
	p.namespaces[action.Namespace]++
}

func (p *places) free(action types.NamespacedName) {
	server, held := p.held[action]
	if !held {
		return
	}
	delete(p.held, action)
	decrement(p.servers, server)
	decrement(p.namespaces, action.Namespace)
}

func decrement(counts map[string]int, key string) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// serverOf returns the server of a request, or "" for the API server.
func serverOf(r v1alpha1.ActionExecutor) string {
	var address string
	switch {
	case r.HTTP != nil:
		address = r.HTTP.URL
	case r.External != nil:
		address = r.External.URL
	case r.GitHubWorkflow != nil:
		address = cmp.Or(r.GitHubWorkflow.Server, "https://github.com")
	case r.GitLabPipeline != nil:
		address = cmp.Or(r.GitLabPipeline.Server, "https://gitlab.com")
	}
	u, err := url.Parse(address)
	if err != nil {
		return address // the executor refuses it
	}
	return strings.ToLower(u.Host)
}

// turns limit how many Actions this process works on at once. An Action has none while it is at a server.
type turns chan struct{}

// take waits for a turn.
func (t turns) take() { t <- struct{}{} }

// end gives the turn to another Action.
func (t turns) end() { <-t }
