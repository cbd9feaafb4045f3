package controller_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/harness"
)

// transport is a connection to the API server on which a test delays answers.
type transport struct {
	next http.RoundTripper
	// answered is called with the first answer to an apply of a ConfigMap of this
	// name, before the applier gets it.
	name     string
	answered func()
	once     sync.Once
	// silent is the part of the query of watches of ConfigMaps that send no events.
	silent string
	lists  atomic.Int32 // of ConfigMaps, each of one or more pages
}

// over returns a configuration whose requests pass through t.
func (t *transport) over(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		t.next = next
		return t
	})
	return config
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	all := strings.HasSuffix(r.URL.Path, "/configmaps")
	switch watches := r.URL.Query().Get("watch") == "true"; {
	case err != nil:
	case r.Method == http.MethodPatch && response.StatusCode < 300 && strings.HasSuffix(r.URL.Path, "/configmaps/"+t.name):
		t.once.Do(t.answered)
	case all && watches && t.silent != "" && strings.Contains(r.URL.RawQuery, t.silent):
		response.Body = silence{response.Body, r.Context().Done()}
	case all && !watches && r.Method == http.MethodGet && r.URL.Query().Get("continue") == "":
		t.lists.Add(1)
	}
	return response, err
}

// silence is a stream that sends nothing until its request ends.
type silence struct {
	io.ReadCloser
	ended <-chan struct{}
}

func (s silence) Read([]byte) (int, error) {
	<-s.ended
	return 0, io.EOF
}

// lag is how long a test holds an answer back so that events overtake it.
const lag = 500 * time.Millisecond

// An object is deleted before the answer to the Apply that created it arrives, as
// by a controller that is quick. The answer must not be taken for newer.
func TestDeletedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	late := &transport{name: "a"}
	late.answered = func() {
		if err := b.resource("v1", "ConfigMap").Delete(b.background(), "a", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		time.Sleep(lag)
	}
	b.start(late.over(b.Config))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
	b.eventually("created again", func(ctx ctx) bool { return b.data(ctx, "a") == "1" })
}

// A graph adopts an object, which is changed before the graph joins the watch of
// its labels, and after the watch of its name has sent its last event.
func TestChangedBeforeJoining(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "0"}}`)
	late := &transport{name: "a", silent: "fieldSelector=metadata.name%3Da"}
	late.answered = func() {
		b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"2"}}`)
		time.Sleep(lag)
	}
	b.start(late.over(b.Config))
	// Its watch of ConfigMaps is open when the other graph joins it.
	b.apply(b.rendered("first", nodes(configMap("x", "x", "1"))))
	b.ready("first")
	b.apply(b.rendered("web", `nodes: [{id: a, applyPolicy: {mode: Adopt, conflictPolicy: Force},
		resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "1"}}}]`))
	b.ready("web")
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "a") == "1" })
}

// An event that is lost for any other reason is made up for by the next list. The
// graphs share it.
func TestRelist(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.Relist = 4 * time.Second
	deaf := &transport{silent: "labelSelector="}
	b.start(deaf.over(b.Config))
	names := []string{"one", "two", "three", "four", "five", "six"}
	for _, name := range names {
		b.apply(b.rendered(name, nodes(configMap("a", name, "1"))))
	}
	for _, name := range names {
		b.ready(name)
	}
	before := deaf.lists.Load()
	b.eventually("listed again", func(ctx) bool { return deaf.lists.Load() > before })
	began, before := time.Now(), deaf.lists.Load()
	if err := b.resource("v1", "ConfigMap").Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("created again", func(ctx ctx) bool { return b.data(ctx, "two") == "1" })
	most := 1 + int(time.Since(began)/(b.options.Relist/2))
	if n := int(deaf.lists.Load() - before); n > most {
		t.Errorf("%d lists; want at most %d", n, most)
	}
}

// The same holds for an object that is watched by its name: an external reference.
func TestRelistOfReferences(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.Relist = 4 * time.Second
	deaf := &transport{silent: "fieldSelector=metadata.name%3Dgiven"}
	b.start(deaf.over(b.Config))
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: given}, data: {a: "1"}}`)
	b.apply(b.rendered("web", nodes(`{id: given, externalRef: {apiVersion: v1, kind: ConfigMap, name: given}}`,
		`{id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {a: {$from: given.data.a}}}}`)))
	b.ready("web")
	b.patch("v1", "ConfigMap", "given", "somebody", `{"data":{"a":"2"}}`)
	b.eventually("read again", func(ctx ctx) bool { return b.data(ctx, "copy") == "2" })
}
