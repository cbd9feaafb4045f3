package main

import (
	"context"
	"errors"
)

// kapp and timoni are Go programs, but the module proxy answers 403 for their modules, under all
// paths that they have had.
var (
	kappPeer   = unavailable("kapp", "not built: the module proxy doesn't serve carvel.dev/kapp")
	timoniPeer = unavailable("timoni", "not built: the module proxy doesn't serve github.com/stefanprodan/timoni")
)

// unavailable returns a peer that is left out for a reason.
func unavailable(name, reason string) peer {
	return peer{name: name, build: func(context.Context, *bench) (string, error) { return "", errors.New(reason) }}
}
