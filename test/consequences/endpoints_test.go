package consequences

import (
	"slices"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/pequod-io/pequod/test/harness"
)

// endpointWatch follows the EndpointSlices that the control plane makes for the Services of
// a namespace.
type endpointWatch struct {
	mu sync.Mutex
	// ready is the number of ready endpoints, by Service and slice.
	ready map[string]map[string]int
	// served are the Services that had ready endpoints at the mark, and empty are those of
	// them that had none later.
	served, empty map[string]bool
}

// watchEndpoints watches the EndpointSlices of the test's namespace until the test ends. The
// namespace must have none yet.
func watchEndpoints(t *testing.T, c *harness.Cluster) *endpointWatch {
	t.Helper()
	e := &endpointWatch{ready: map[string]map[string]int{}}
	w, err := c.Client.DiscoveryV1().EndpointSlices(c.Namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	go func() {
		for event := range w.ResultChan() {
			if s, ok := event.Object.(*discoveryv1.EndpointSlice); ok && s.Labels[discoveryv1.LabelServiceName] != "" {
				e.see(event.Type, s)
			}
		}
	}()
	return e
}

// see records the ready endpoints of a slice.
func (e *endpointWatch) see(kind watch.EventType, s *discoveryv1.EndpointSlice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	service := s.Labels[discoveryv1.LabelServiceName]
	if e.ready[service] == nil {
		e.ready[service] = map[string]int{}
	}
	n := 0
	for _, endpoint := range s.Endpoints {
		if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready && kind != watch.Deleted {
			n++
		}
	}
	e.ready[service][s.Name] = n
	if e.served[service] && e.count(service) == 0 {
		e.empty[service] = true
	}
}

// count returns the number of ready endpoints of a Service. The caller holds the lock.
func (e *endpointWatch) count(service string) (sum int) {
	for _, n := range e.ready[service] {
		sum += n
	}
	return sum
}

// mark begins to record the Services that lose their endpoints.
func (e *endpointWatch) mark() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.served, e.empty = map[string]bool{}, map[string]bool{}
	for service := range e.ready {
		if e.count(service) > 0 {
			e.served[service] = true
		}
	}
}

// lost returns the Services that had no ready endpoints at some time since mark, sorted.
func (e *endpointWatch) lost() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []string
	for service := range e.empty {
		found = append(found, service)
	}
	slices.Sort(found)
	return found
}
