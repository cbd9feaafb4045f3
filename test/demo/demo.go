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

// app is the developer's instance. The tag of its image makes the fake kubelet
// take that long until a Pod is ready; see test/cluster/README.md.
const app = `apiVersion: pequod.io/v1alpha1
kind: WebService
metadata:
  name: web
  namespace: shop
spec:
  image: nginxinc/nginx-unprivileged:ready-after-3s
  port: 8080
  replicas: 2
  ingress:
    host: shop.example.com
    tlsSecret: shop-tls
`

// step is a part of the demonstration: a comment and the commands that follow it.
// The commands are lines for the shell; the first one that fails ends the
// demonstration.
type step struct {
	says     string
	commands []string
}

// graph is the name of the instance's graph, which commands mention: the name of
// the instance with a hash. If rendering gives another name, the demonstration
// fails.
const graph = "web-0d114651"

// install brings the applier into the cluster.
var install = []step{{
	says:     "The applier is installed: its definitions, its account, and the roles of that.",
	commands: []string{"pequod install"},
}}

// deploy renders an instance and applies it.
var deploy = []step{{
	says:     "A developer writes a few lines. They are rendered, without a cluster, to a graph of objects.",
	commands: []string{"cat app.yaml", "pequod render -f app.yaml > graph.yaml", "pequod graph -f app.yaml"},
}, {
	says: "The graph is executed as an account of its namespace, which may do what the graph needs and no more.",
	commands: []string{
		"kubectl create namespace shop",
		"kubectl create serviceaccount pequod -n shop",
		"pequod rbac generate -f graph.yaml | kubectl apply -f -",
	},
}, {
	says: "The graph goes to the cluster, where the applier executes it.",
	commands: []string{
		"kubectl apply --server-side -f graph.yaml",
		"pequod status " + graph + " -n shop --wait --timeout 3m",
		"kubectl get resourcegraphs,deployments,services,ingresses -n shop",
	},
}}

// demo is one demonstration. The session is printed to out, and the progress of
// compiling and errors of commands to err.
type demo struct {
	out, err io.Writer
	// keep leaves everything running until ctx is done.
	keep bool
}

// run shows everything and removes what it created. The steps:
//
// 1. Compile the programs.
//
// 2. Start a control plane, and install the applier in it.
//
// 3. Start the applier beside it.
//
// 4. Write the instance to a file, render it, and apply its graph.
//
// 5. Print how long that took, and stop everything in reverse order.
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
	if err := s.build(ctx); err != nil {
		return err
	}
	s.say("A Kubernetes control plane is started, in which no container runs.")
	cluster, err := server.Start(ctx, server.Options{Log: d.err})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	s.kubeconfig = cluster.Kubeconfig()
	if err := s.all(ctx, install); err != nil {
		return err
	}
	applier, err := s.startApplier(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if end := applier.Stop(patience); err == nil {
			err = end
		}
	}()
	ready := time.Now()
	if err := os.WriteFile(filepath.Join(dir, "app.yaml"), []byte(app), 0o600); err != nil {
		return err
	}
	if err := s.all(ctx, deploy); err != nil {
		return fmt.Errorf("%w\nlog of the applier:\n%s", err, applier.Log())
	}
	now := time.Now()
	s.say(fmt.Sprintf("From the instance to ready in %s, from nothing in %s.",
		now.Sub(ready).Round(100*time.Millisecond), now.Sub(began).Round(100*time.Millisecond)))
	if d.keep {
		return s.wait(ctx, cluster, applier)
	}
	s.say("Everything is removed again; to keep it until Ctrl-C: make demo-cluster DEMO_FLAGS=-keep")
	return nil
}

// wait leaves everything running until ctx is done.
func (s *session) wait(ctx context.Context, cluster *server.Server, applier *server.Applier) error {
	s.say("It goes on until Ctrl-C. In another terminal:")
	fmt.Fprintf(s.out, "\n    export KUBECONFIG=%s\n    export PATH=%s:$PATH\n    cd %s\n    pequod status %s -n shop --watch\n\n",
		s.kubeconfig, s.bin, s.dir, graph)
	select {
	case <-ctx.Done():
		return nil
	case <-cluster.Done():
		return errors.New("the control plane has ended")
	case <-applier.Done():
		return fmt.Errorf("the applier has ended\n%s", applier.Log())
	}
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
