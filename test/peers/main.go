// Command peers measures how kubectl, Helm, Flux's kustomize-controller, kro and Pequod apply the
// same objects to the same control plane, and writes the figures into docs/comparison.md.
// `make peers` runs it.
//
// Each peer creates a set of ConfigMaps, Services and Deployments in a namespace of its own,
// applies it again without a change, changes one object, removes one object, and deletes
// everything. Peers take turns, each in every round, and only one of them runs at a time. The
// requests are counted in a round of their own, through a proxy, so that counting doesn't distort
// the times. In that round controllers are also observed at rest, and an object is changed behind
// their back.
//
// A peer is one file: kubectl.go, helm.go, pequod.go, applier.go, flux.go and kro.go. Each builds its
// program with a module of this checkout. unavailable.go has the peers that can't be built. main.go
// has the flags and the rounds, peer.go what a peer does, trial.go the steps, control.go the control plane, process.go the
// costs of processes, objects.go the objects, and report.go the tables.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// plan is the configuration of a run.
type plan struct {
	rounds, objects int
	rest            time.Duration
	doc             string
	// only are the names of the peers to measure; empty means all.
	only []string
}

// peers are all peers. The first one is the reference of the ratios.
var peers = []peer{kubectlPeer, helmPeer, pequodPeer, applierPeer, fluxPeer, kroPeer, kappPeer, timoniPeer}

func main() {
	p := plan{}
	flag.IntVar(&p.rounds, "rounds", 3, "`number` of measured rounds")
	flag.IntVar(&p.objects, "objects", 100, "`number` of objects: half of them ConfigMaps, a quarter Services, a quarter Deployments")
	flag.DurationVar(&p.rest, "rest", time.Minute, "how long controllers are observed at rest")
	flag.StringVar(&p.doc, "doc", "docs/comparison.md", "`file` whose generated part is replaced")
	only := flag.String("peers", "", "comma-separated `list` of peers to measure besides kubectl (default all)")
	flag.Parse()
	if *only != "" {
		p.only = append(strings.Split(*only, ","), peers[0].name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measure builds the peers, runs all rounds, and writes the report after each of them, because a
// run takes long and may be interrupted.
func measure(ctx context.Context, p plan) (err error) {
	if p.rounds < 1 || p.objects < 4 {
		return errors.New("at least one round and four objects are needed")
	}
	b, err := start(ctx, p.objects, p.rest)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	report := report{objects: p.objects, rest: p.rest}
	report.describe()
	measured := map[*results]peer{}
	for _, peer := range peers {
		if p.only != nil && !slices.Contains(p.only, peer.name) {
			continue
		}
		began := time.Now()
		r := &results{name: peer.name, samples: map[stepOf][]sample{}, requests: map[stepOf]int{}}
		report.peers = append(report.peers, r)
		measured[r] = peer
		if r.version, err = peer.build(ctx, b); err != nil {
			r.skipped = err.Error()
		}
		fmt.Fprintf(os.Stderr, "%s %s%s: %.0f s\n", peer.name, r.version, r.skipped, time.Since(began).Seconds())
	}
	// Round 0 counts requests and takes longest.
	for i := range p.rounds + 1 {
		round := (i + 1) % (p.rounds + 1)
		for _, r := range report.peers {
			if r.skipped != "" {
				continue
			}
			if err := b.try(ctx, measured[r], r, round); err != nil {
				err = fmt.Errorf("%s: round %d: %w", r.name, round, err)
				fmt.Fprintln(os.Stderr, err)
				if r.name == peers[0].name || ctx.Err() != nil {
					return err
				}
				// The others are still worth measuring. The rest of the message is a log.
				r.skipped, _, _ = strings.Cut(fmt.Sprintf("failed in round %d: %v", round, errors.Unwrap(err)), "\n")
			}
			if round > 0 {
				continue
			}
			if err := report.write(p.doc); err != nil {
				return err
			}
		}
		report.rounds = max(report.rounds, round)
		if err := report.write(p.doc); err != nil {
			return err
		}
	}
	return nil
}
