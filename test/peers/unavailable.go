package main

import (
	"context"
	"errors"
)

// kapp and timoni are Go programs, but their modules could not be downloaded where this comparison
// was written, under all paths that they have had.
var (
	kappPeer   = unavailable("kapp", "its module carvel.dev/kapp could not be downloaded in November 2026, and wasn't tried again")
	timoniPeer = unavailable("timoni", "its module github.com/stefanprodan/timoni could not be downloaded in November 2026, and wasn't tried again")
)

// unavailable returns a peer that is left out for a reason.
func unavailable(name, reason string) peer {
	return peer{name: name, build: func(context.Context, *bench) (string, error) { return "", errors.New(reason) }}
}
