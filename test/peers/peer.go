package main

import (
	"context"
	"strings"
)

// peer is a program that is measured.
type peer struct {
	name string
	// build builds the program and returns its version. The peer is left out, with the error as the
	// reason, if it fails.
	build func(ctx context.Context, b *bench) (version string, err error)
	// begin prepares a run in an empty namespace. What it does is not measured.
	begin func(ctx context.Context, t *trial) (contestant, error)
	// keeps is set if the peer doesn't delete objects that are no longer in its input.
	keeps bool
	// grace is set if the peer deletes such objects after a minute, which is measured once.
	grace bool
}

// contestant is a peer that runs in one namespace.
type contestant interface {
	// apply makes objects the state of the namespace, and returns when the peer reports that they
	// are ready. It returns errors.ErrUnsupported for a repetition that can't be requested.
	apply(ctx context.Context, objects []object) error
	// remove deletes everything, and returns when the peer reports that it is done.
	remove(ctx context.Context) error
	// usage returns what the processes have used so far.
	usage() usage
	// close ends the processes.
	close(ctx context.Context) error
}

// file returns the name of the peer as a part of names of objects and files.
func (p peer) file() string { return strings.ReplaceAll(strings.ToLower(p.name), " ", "-") }
