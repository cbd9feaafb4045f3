package graphs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// A watch is continued only if it can be opened again at once. Otherwise the
// reflector is made to list.
func TestListWatchContinues(t *testing.T) {
	var mu sync.Mutex
	var watched []bool
	var fake *watch.FakeWatcher
	var fails error
	l := &listWatch{
		watched: func(is bool) { mu.Lock(); defer mu.Unlock(); watched = append(watched, is) },
		ListWatch: &cache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			fake = watch.NewFake()
			return fake, fails
		}},
	}
	open := func(lists bool) (watch.Interface, error) {
		options := metav1.ListOptions{ResourceVersion: "5"}
		if lists {
			options.SendInitialEvents = new(true)
		}
		return l.WatchWithContext(t.Context(), options)
	}
	want := func(is ...bool) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(watched, is) {
			t.Errorf("watched: %v; want %v", watched, is)
		}
		watched = nil
	}

	w, err := open(true)
	if err != nil {
		t.Fatal(err)
	}
	go fake.Add(&v1alpha1.ResourceGraph{})
	if ev := <-w.ResultChan(); ev.Type != watch.Added {
		t.Errorf("event %v", ev)
	}
	want() // the list says so itself
	fake.Stop()
	if _, ok := <-w.ResultChan(); ok {
		t.Error("an event after the end")
	}
	want(false) // before the reflector can know
	if w, err = open(false); err != nil {
		t.Fatal(err)
	}
	want(true)
	w.Stop()
	want(false)
	w.Stop()
	want()

	for _, fails = range []error{syscall.ECONNREFUSED, apierrors.NewTooManyRequestsError("starting")} {
		if _, err := open(false); !apierrors.IsResourceExpired(err) {
			t.Errorf("%v becomes %v, after which the reflector doesn't list", fails, err)
		}
		if _, err := open(true); !errors.Is(err, fails) {
			t.Errorf("a list fails with %v; want %v", err, fails)
		}
	}
	fails = nil
	l.setEnded(time.Now().Add(-2 * reopenTimeout))
	if _, err := open(false); !apierrors.IsResourceExpired(err) || !fake.IsStopped() {
		t.Errorf("a watch that was opened late: %v", err)
	}
	if _, err := open(true); err != nil {
		t.Error(err)
	}
	if _, err := open(false); err != nil {
		t.Errorf("the first watch after a list: %v", err)
	}
}
