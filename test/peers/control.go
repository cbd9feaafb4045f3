package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/test/server"
)

// bench has the control plane and the programs.
type bench struct {
	objects int           // in a set
	rest    time.Duration // of controllers
	scratch string
	server  *server.Server
	// admin is the access of a service account that may do everything. It has a token, which passes
	// the proxy. All peers use it.
	admin  *rest.Config
	client dynamic.Interface
	// Paths of programs.
	kubectl, helm, pequod, applier, flux, kro string
}

// start starts a control plane and creates the account of the peers.
func start(ctx context.Context, objects int, rest time.Duration) (b *bench, err error) {
	b = &bench{objects: objects, rest: rest}
	defer func() {
		if err != nil {
			_ = b.stop() // err is the reason
		}
	}()
	if b.scratch, err = os.MkdirTemp("", "pequod-peers-"); err != nil {
		return nil, err
	}
	if b.kubectl, err = server.Kubectl(ctx, os.Stderr); err != nil {
		return nil, err
	}
	if b.server, err = server.Start(ctx, server.Options{Log: os.Stderr}); err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", b.server.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit in the client
	if err := b.create(ctx, `{apiVersion: v1, kind: Namespace, metadata: {name: peers}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: peers, namespace: peers}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: peers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: peers, namespace: peers}]
`); err != nil {
		return nil, err
	}
	if b.admin, err = server.ServiceAccount(ctx, config, "peers", "peers"); err != nil {
		return nil, err
	}
	if b.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	return b, nil
}

// stop ends the control plane and removes all files.
func (b *bench) stop() error {
	defer os.RemoveAll(b.scratch)
	if b.server == nil {
		return nil
	}
	return b.server.Stop()
}

// administer runs kubectl as the administrator of the cluster. Nothing of it is measured.
func (b *bench) administer(ctx context.Context, stdin string, args ...string) error {
	cmd := exec.CommandContext(ctx, b.kubectl, append(args, "--kubeconfig="+b.server.Kubeconfig())...)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, &out)
	}
	return nil
}

// create applies documents as the administrator.
func (b *bench) create(ctx context.Context, yaml string) error {
	return b.administer(ctx, yaml, "apply", "--server-side", "--force-conflicts", "-f", "-")
}

// createFiles applies all files that a pattern matches, and waits until the kinds that they define
// are established.
func (b *bench) createFiles(ctx context.Context, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no files %s: %v", pattern, err)
	}
	for _, file := range files {
		if err := b.administer(ctx, "", "apply", "--server-side", "-f", file); err != nil {
			return err
		}
	}
	return b.administer(ctx, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=2m")
}

// The kinds that are looked at.
var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	services    = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// observed lists "resource/name" of what is in a namespace, without what Kubernetes creates in each, and
// counts Deployments that aren't ready.
func (b *bench) observed(ctx context.Context, namespace string) (names map[string]bool, unready int, err error) {
	names = map[string]bool{}
	for _, kind := range []schema.GroupVersionResource{configMaps, secrets, services, deployments} {
		list, err := b.client.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, 0, err
		}
		for _, o := range list.Items {
			if o.GetName() == "kube-root-ca.crt" {
				continue
			}
			names[kind.Resource+"/"+o.GetName()] = true
			if kind == deployments && !available(o) {
				unready++
			}
		}
	}
	return names, unready, nil
}

// available reports whether the current generation of a Deployment of one Pod is available.
func available(o unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	replicas, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
	return observed >= o.GetGeneration() && replicas == 1
}

// poll calls done every 20 ms until it returns true or an error, or stepPatience ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, stepPatience, true, func(context.Context) (bool, error) { return done() })
}

// answers reports whether an address answers with 200.
func answers(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}
