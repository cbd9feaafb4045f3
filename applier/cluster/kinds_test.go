package cluster

import (
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A kind that is known can be looked up while a discovery hangs: the controller does so with locks
// held that all graphs need.
func TestKnownKindsDontWait(t *testing.T) {
	var asked atomic.Bool
	hangs, answer := make(chan struct{}), make(chan struct{})
	c, _ := distant(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Swap(true) {
			close(hangs)
			<-answer
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]}]}`))
	})
	kinds := c.Kinds()
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	if _, err := kinds.Find(t.Context(), pods); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = kinds.Find(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Other"})
	}()
	<-hangs
	if kind, known := kinds.Cached(pods); !known || !kind.Namespaced { // or the test hangs
		t.Errorf("got %v, %t", kind, known)
	}
	if _, err := kinds.Find(t.Context(), pods); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
		t.Error("the discovery didn't hang")
	default:
	}
	close(answer)
	<-ended
}
