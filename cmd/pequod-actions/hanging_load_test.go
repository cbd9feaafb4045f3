package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/harness"
)

// TestHangingLoad measures how long each of 200 Actions takes, alone, and beside 200 Actions of ten other tenants at
// servers that never answer, each at one of its own. Other work of the machine delays Actions, too, so the shorter
// times of two rounds count.
func TestHangingLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	e := newEnv(t)
	const healthy, tenants, each = 200, 10, 20
	var held atomic.Int32
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		held.Add(1)
		defer held.Add(-1)
		<-r.Context().Done()
	})
	var hanging, namespaces strings.Builder
	for n := range tenants {
		tenant := e.Unique(fmt.Sprint("hostile-", n))
		fmt.Fprintf(&namespaces, "---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n", tenant)
		for i := range each {
			s := httptest.NewServer(hang)
			t.Cleanup(s.Close)
			fmt.Fprintf(&hanging, "---\n{apiVersion: platform.pequod.io/v1alpha1, kind: Action, metadata: {name: h%d, namespace: %s}, spec: {serviceAccountName: runner, timeout: 24h, http: {url: '%s/'}}}\n", i, tenant, s.URL)
		}
	}
	e.Apply(t, strings.TrimPrefix(namespaces.String(), "---\n"))
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	// times returns how long Actions take from their creation until they are ready, in order.
	times := func(prefix string) (all []time.Duration) {
		t.Helper()
		list, err := actions.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		watching, err := actions.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: new(int64(patience.Seconds()))})
		if err != nil {
			t.Fatal(err)
		}
		defer watching.Stop()
		var text strings.Builder
		for i := range healthy {
			fmt.Fprintf(&text, "---\n{apiVersion: platform.pequod.io/v1alpha1, kind: Action, metadata: {name: %s-%d}, spec: {serviceAccountName: runner, http: {url: '%s/databases', body: {of: %[1]s, size: %[2]d}}}}\n", prefix, i, e.host.URL)
		}
		done := make(chan []time.Duration, 1)
		go func() { done <- took(watching.ResultChan(), healthy) }()
		e.Apply(t, strings.TrimPrefix(text.String(), "---\n"))
		if all = <-done; len(all) < healthy {
			t.Fatalf("%d Actions are ready", len(all))
		}
		return all
	}
	best := map[string]time.Duration{}
	measure := func(mode string, round int) {
		t.Helper()
		all := times(fmt.Sprint(mode, round))
		p50, p99 := all[len(all)/2], all[len(all)*99/100]
		t.Logf("%s: median %s, 99th percentile %s, %d requests hang", mode, p50.Round(time.Millisecond), p99.Round(time.Millisecond), held.Load())
		if known, ok := best[mode]; !ok || p99 < known {
			best[mode] = p99
		}
	}
	p := e.run(t)
	p.Ready(t)
	times("first") // the program leads, and connections are open
	measure("alone", 0)
	measure("alone", 1)
	e.Apply(t, strings.TrimPrefix(hanging.String(), "---\n"))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if n := held.Load(); n < tenants*each {
			return fmt.Errorf("%d requests hang", n)
		}
		return nil
	})
	measure("beside", 0)
	measure("beside", 1)
	ratio := float64(best["beside"]) / float64(best["alone"])
	t.Logf("the 99th percentile beside servers that hang is %.2f times that alone", ratio)
	if ratio > 2 {
		t.Errorf("%s, alone %s", best["beside"], best["alone"])
	}
}

// took returns how long a number of Actions take from their creation until they are ready, in order. It returns fewer
// if the watch ends.
func took(events <-chan watch.Event, count int) (all []time.Duration) {
	made := map[string]time.Time{}
	for event := range events {
		a, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			break
		}
		if _, known := made[a.GetName()]; !known {
			made[a.GetName()] = time.Now()
		}
		status, _, _ := unstructured.NestedMap(a.Object, "status")
		if began := made[a.GetName()]; !began.IsZero() && reason("RunSucceeded")(status) == nil {
			all = append(all, time.Since(began))
			made[a.GetName()] = time.Time{} // it counts once
		}
		if len(all) == count {
			break
		}
	}
	slices.Sort(all)
	return all
}
