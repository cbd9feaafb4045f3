package main

import (
	"context"
	"fmt"
	"time"
)

// instance is the developer's instance. The tag of its image makes the fake kubelet
// take that long until a Pod is ready; see test/cluster/README.md.
const instance = `apiVersion: pequod.io/v1alpha1
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

// webService is the demonstration of `make demo-cluster`: a WebService becomes ready.
func webService() scenario {
	return scenario{
		programs: []string{"pequod-applier"},
		play:     playWebService,
		next:     "pequod status " + graph + " -n shop --watch",
		target:   "demo-cluster",
	}
}

func playWebService(ctx context.Context, s *session) (string, error) {
	if err := s.all(ctx, install); err != nil {
		return "", err
	}
	s.say("No container runs in this cluster, so the applier runs beside it, as that account.")
	if err := s.start(ctx, "pequod-applier"); err != nil {
		return "", err
	}
	began := time.Now()
	if err := s.write("app.yaml", instance); err != nil {
		return "", err
	}
	if err := s.all(ctx, deploy); err != nil {
		return "", err
	}
	return fmt.Sprintf("From the instance to ready in %s", time.Since(began).Round(100*time.Millisecond)), nil
}
