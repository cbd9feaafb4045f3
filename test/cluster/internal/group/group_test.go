package group

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestStopsLastFirst(t *testing.T) {
	var ended []string
	g := New(time.Second, time.Second)
	for _, name := range []string{"etcd", "apiserver", "scheduler"} {
		g.Start(name, func(ctx context.Context) error {
			<-ctx.Done()
			ended = append(ended, name)
			return errors.New("interrupted, which is no failure")
		})
	}
	g.Stop()
	if want := []string{"scheduler", "apiserver", "etcd"}; !slices.Equal(ended, want) {
		t.Errorf("ended: %v, want %v", ended, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Wait(ctx); err != nil {
		t.Errorf("a component that was stopped counts as failed: %v", err)
	}
}

func TestLeavesBehindWhatDoesNotStop(t *testing.T) {
	g := New(time.Second, 10*time.Millisecond)
	release := make(chan struct{})
	defer close(release)
	g.Start("stubborn", func(context.Context) error {
		<-release
		return nil
	})
	g.Stop()
}

func TestFailureOfOneIsSeen(t *testing.T) {
	for name, err := range map[string]error{
		"scheduler: broken":          errors.New("broken"),
		"scheduler: ended by itself": nil,
	} {
		g := New(time.Minute, time.Second)
		g.Start("scheduler", func(context.Context) error { return err })
		never := func(context.Context) error { return errors.New("not yet") }
		if got := g.Await(t.Context(), "all", never); got == nil || got.Error() != name {
			t.Errorf("Await: %v, want %s", got, name)
		}
		g.Stop()

		g = New(time.Minute, time.Second)
		g.Start("scheduler", func(context.Context) error { return err })
		if got := g.Wait(t.Context()); got == nil || got.Error() != name {
			t.Errorf("Wait: %v, want %s", got, name)
		}
		g.Stop()
	}
}

func TestAwait(t *testing.T) {
	g := New(200*time.Millisecond, time.Second)
	asked := 0
	if err := g.Await(t.Context(), "it", func(context.Context) error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	}); err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	err := g.Await(t.Context(), "it", func(context.Context) error { return errors.New("never") })
	if err == nil || err.Error() != "it: not ready: never" {
		t.Errorf("error %v", err)
	}
}
