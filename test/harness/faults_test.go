package harness_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// Faults look to client-go like those of an API server, and so does their
// absence.
func TestFaultProxy(t *testing.T) {
	t.Parallel()
	c := start(t)
	proxy := c.Proxy(t, 1)
	config := proxy.Config(c.Config)
	config.UserAgent = "subject/1"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps(c.Namespace)
	create := func(name string) error {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	rule := func(fault faults.Fault) faults.Rule {
		return faults.Rule{Verbs: []string{"create"}, Resources: []string{"configmaps"}, Times: 1, Faults: []faults.Fault{fault}}
	}
	for _, test := range []struct {
		name   string
		fault  faults.Fault
		want   func(error) bool
		stored bool
	}{
		{"conflict", faults.Status{Code: 409}, apierrors.IsConflict, false},
		{"throttled", faults.Status{Code: 429}, apierrors.IsTooManyRequests, false},
		{"broken", faults.Status{Code: 500}, apierrors.IsInternalError, false},
		{"slow", faults.Timeout{}, apierrors.IsTimeout, false},
		{"dropped", faults.Drop{}, isBroken, false},
		{"cut", faults.Cut{After: 50}, isBroken, true},
	} {
		proxy.Inject(rule(test.fault))
		if err := create(test.name); !test.want(err) {
			t.Errorf("%s: error %v", test.name, err)
		}
		_, err := maps.Get(t.Context(), test.name, metav1.GetOptions{})
		if (err == nil) != test.stored {
			t.Errorf("%s: reading it: %v; want it to be there: %v", test.name, err, test.stored)
		}
	}

	t.Run("client-go tries again where it is told to", func(t *testing.T) {
		proxy.Inject(rule(faults.Status{Code: 429, RetryAfter: time.Second}))
		proxy.Reset()
		if err := create("later"); err != nil {
			t.Error(err)
		}
		got := proxy.Counts()[faults.Key{Verb: "create", Resource: "configmaps", UserAgent: "subject/1"}]
		if got != 2 || len(proxy.Faults()) != 1 {
			t.Errorf("%d requests, faults %v", got, proxy.Faults())
		}
	})
}

// isBroken reports whether a request failed without a response from the API
// server.
func isBroken(err error) bool {
	return err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
}

// Through a proxy at which a fifth of all requests fail, a client that tries
// again reaches its aim, watches included.
func TestFaultProxyWithWatches(t *testing.T) {
	t.Parallel()
	c := start(t)
	proxy := c.Proxy(t, 1)
	client, err := kubernetes.NewForConfig(proxy.Config(c.Config))
	if err != nil {
		t.Fatal(err)
	}
	proxy.Inject(faults.Rule{Rate: 0.3, Faults: []faults.Fault{
		faults.Status{Code: 409}, faults.Status{Code: 429, RetryAfter: time.Second}, faults.Status{Code: 500},
		faults.Timeout{After: 10 * time.Millisecond}, faults.Cut{After: 200}, faults.Drop{},
		faults.Delay{For: 10 * time.Millisecond},
	}})
	maps := client.CoreV1().ConfigMaps(c.Namespace)
	for i := range 50 {
		name := fmt.Sprintf("map-%d", i)
		harness.Eventually(t, patience, func(ctx context.Context) error {
			_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil // the answer to an earlier try was cut
			}
			return err
		})
	}
	if len(proxy.Faults()) < 3 {
		t.Errorf("faults: %v", proxy.Faults())
	}

	proxy.Inject()
	watch, err := maps.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=map-0"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if event, ok := <-watch.ResultChan(); !ok {
		t.Fatalf("the watch ended: %v", event)
	}
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	for range watch.ResultChan() {
		// It ends now that the proxy is down.
	}
	if _, err := maps.List(t.Context(), metav1.ListOptions{}); !isBroken(err) {
		t.Errorf("while the proxy is down: %v", err)
	}
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "!kubernetes.io/config"})
		if err == nil && len(list.Items) < 50 {
			err = fmt.Errorf("%d are left", len(list.Items))
		}
		return err
	})
}
