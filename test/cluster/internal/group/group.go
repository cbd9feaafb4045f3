// Package group runs the components of a control plane: they are started in
// order, stop in the opposite order, and the failure of one ends all.
package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Group is components that run. Its methods are called from one goroutine.
type Group struct {
	// Patience is how long Await waits for each thing.
	Patience time.Duration
	// StopPatience is how long each component may take to stop.
	StopPatience time.Duration

	members []*member
	failed  chan error
}

type member struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// poll is how often Await asks.
const poll = 20 * time.Millisecond

// New makes an empty group.
func New(patience, stopPatience time.Duration) *Group {
	return &Group{Patience: patience, StopPatience: stopPatience, failed: make(chan error, 1)}
}

// Start runs a component until Stop. One that returns before that has failed,
// whatever it returns.
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

// Wait returns when ctx is done, or with the error of a component that failed.
func (g *Group) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-g.failed:
		return err
	}
}

// Await calls check until it succeeds. It fails with what check said last, or
// with the error of a component that failed meanwhile.
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

// Stop ends the components, last first. One that doesn't stop in time is left
// behind: the process ends soon, and what is stored is safe at any moment.
func (g *Group) Stop() {
	for _, m := range slices.Backward(g.members) {
		m.cancel()
		select {
		case <-m.done:
		case <-time.After(g.StopPatience):
		}
	}
}
