package controller

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
)

// A destination that is opened again is served, however shortly before it was closed.
func TestDestinationIsOpenedAgain(t *testing.T) {
	s := newDestinations(&rest.Config{}, share.New(share.Options{Requests: 10, Steps: 1, Log: logr.Discard()}))
	s.begin(t.Context())
	const away = `
apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: it, user: {token: it}}]
`
	d, err := s.get("shop", v1alpha1.SecretKeyReference{Name: "prod"}, []byte(away))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		s.mu.Lock()
		d.close()
		d.close = nil
		s.mu.Unlock()
		s.retain(d)
		answered := make(chan error)
		d.identify(func(_ string, err error) { answered <- err })
		if err := <-answered; err == nil || errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
}

// The UID of a cluster is one that graphs can have in an annotation.
func TestUIDOfCluster(t *testing.T) {
	for uid, ok := range map[string]bool{"8ad17ef6-1ef8-4b8c-9d51-5a7c9fd0a1c2": true, "": false, strings.Repeat("x", 1000): false} {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/api/v1" {
				_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"namespaces","kind":"Namespace","verbs":["get"]}]}`))
				return
			}
			_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, uid)
		}))
		config := &rest.Config{Host: s.URL, Timeout: time.Minute}
		config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
		client, err := cluster.NewDistant(config, "of Secret prod", &cluster.Room{}, "shop")
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&destination{client: client}).readUID(t.Context())
		if (err == nil) != ok || ok && got != uid {
			t.Errorf("%.40q: got %.40q, %v", uid, got, err)
		}
		client.Close()
		s.Close()
	}
}
