package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pequod-io/pequod/test/server"
)

// step is a part of a demonstration: a comment and the commands that follow it.
// The commands are lines for the shell; the first one that fails ends the
// demonstration.
type step struct {
	says     string
	commands []string
}

// scenario is what a demonstration shows in a cluster.
type scenario struct {
	// programs are compiled, beside pequod.
	programs []string
	// play shows everything, and starts the programs by [session.start]. It returns a summary in
	// one sentence without its end.
	play func(context.Context, *session) (string, error)
	// next is a command to go on with, and target the make target to keep everything.
	next, target string
}

// demo is one demonstration. The session is printed to out, and the progress of
// compiling and errors of commands to err.
type demo struct {
	scenario
	out, err io.Writer
	// keep leaves everything running until ctx is done.
	keep bool
}

// run shows everything and removes what it created. The steps:
//
// 1. Compile the programs.
//
// 2. Start a control plane.
//
// 3. Play the scenario, which starts our programs beside the control plane.
//
// 4. Print how long that took, and stop everything in reverse order.
//
// An interrupt ends it at any point; the deferred functions then clean up.
func (d *demo) run(ctx context.Context) (err error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "pequod-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &session{dir: dir, bin: filepath.Join(dir, "bin"), out: d.out, err: d.err}
	if err := s.build(ctx, append([]string{"pequod"}, d.programs...)); err != nil {
		return err
	}
	s.say("A Kubernetes control plane is started, in which no container runs.")
	cluster, err := server.Start(ctx, server.Options{Log: d.err})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	s.kubeconfig = cluster.Kubeconfig()
	defer func() {
		// The programs may fail because of the first error, and Ctrl-C in a terminal ends them, too.
		if end := s.stop(); err == nil && ctx.Err() == nil {
			err = end
		}
	}()
	summary, err := d.play(ctx, s)
	if err != nil {
		return fmt.Errorf("%w%s", err, s.logs())
	}
	s.say(fmt.Sprintf("%s, from nothing in %s.", summary, time.Since(began).Round(100*time.Millisecond)))
	if d.keep {
		return s.wait(ctx, cluster, d.next)
	}
	s.say("Everything is removed again; to keep it until Ctrl-C: make " + d.target + " DEMO_FLAGS=-keep")
	return nil
}

// wait leaves everything running until ctx is done. The command next is printed for readers.
func (s *session) wait(ctx context.Context, cluster *server.Server, next string) error {
	s.say("It goes on until Ctrl-C. In another terminal:")
	fmt.Fprintf(s.out, "\n    export KUBECONFIG=%s\n    export PATH=%s:$PATH\n    cd %s\n    %s\n\n",
		s.kubeconfig, s.bin, s.dir, next)
	ended := make(chan struct{}, len(s.programs))
	for _, program := range s.programs {
		go func() {
			<-program.Done()
			ended <- struct{}{}
		}()
	}
	var err error
	select {
	case <-ctx.Done():
	case <-cluster.Done():
		err = errors.New("the control plane has ended")
	case <-ended:
		err = fmt.Errorf("a program has ended%s", s.logs())
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// all runs steps in order, until a command fails.
func (s *session) all(ctx context.Context, steps []step) error {
	for _, step := range steps {
		s.say(step.says)
		for _, command := range step.commands {
			if err := s.command(ctx, command); err != nil {
				return err
			}
		}
	}
	return nil
}

// say prints a comment.
func (s *session) say(text string) { fmt.Fprintf(s.out, "\n# %s\n", strings.TrimSpace(text)) }
