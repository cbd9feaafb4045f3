// Package group runs the components of a control plane. They start in order and
// stop in reverse order, and the failure of one stops all.
package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Group is a set of running components. It must be used from one goroutine.
type Group struct {
	// Patience bounds each call of Await.
	Patience time.Duration
	// StopPatience bounds the time that each component may take to stop.
	StopPatience time.Duration

	members []*member
	failed  chan error
}

// member is a running component.
type member struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// poll is the interval of Await.
const poll = 20 * time.Millisecond

// New returns an empty group.
func New(patience, stopPatience time.Duration) *Group {
	return &Group{Patience: patience, StopPatience: stopPatience, failed: make(chan error, 1)}
}

// Start runs a component until Stop. A component that returns earlier has failed,
// even if it returns nil.
func (g *Group) Start(name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{cancel: cancel, done: make(chan struct{})}
	g.members = append(g.members, m)
	go func() {
		defer close(m.done)
		err := run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("ended by itself")
		}
		select {
		case g.failed <- fmt.Errorf("%s: %w", name, err):
		default: // another component failed first
		}
	}()
}

// Wait returns when ctx is done, or with the error of a failed component.
func (g *Group) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-g.failed:
		return err
	}
}

// Await calls check until it returns nil. On timeout it returns the last error of
// check, or earlier the error of a failed component.
func (g *Group) Await(ctx context.Context, name string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, g.Patience)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case failure := <-g.failed:
			return failure
		case <-ctx.Done():
			return fmt.Errorf("%s: not ready: %w", name, err)
		case <-time.After(poll):
		}
	}
}

// Stop stops the components in reverse order. A component that does not stop in
// time is abandoned: the process ends soon, and stored data is consistent at any
// moment.
func (g *Group) Stop() {
	for _, m := range slices.Backward(g.members) {
		m.cancel()
		select {
		case <-m.done:
		case <-time.After(g.StopPatience):
		}
	}
}
