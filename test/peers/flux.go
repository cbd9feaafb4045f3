package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const fluxModules = "test/gitops/flux"

// fluxPeer is kustomize-controller with an ExternalArtifact, so that fetching from git or a registry
// isn't measured.
var fluxPeer = peer{
	name: "Flux",
	build: func(ctx context.Context, b *bench) (version string, err error) {
		const controller = "github.com/fluxcd/kustomize-controller"
		if b.flux, version, err = goTool(ctx, "kustomize-controller", fluxModules, controller, controller); err != nil {
			return "", err
		}
		for _, module := range []string{controller, "github.com/fluxcd/source-controller"} {
			dir, err := moduleDir(ctx, fluxModules, module)
			if err != nil {
				return "", err
			}
			if err := b.createFiles(ctx, dir+"/config/crd/bases/*.yaml"); err != nil {
				return "", err
			}
		}
		return "kustomize-controller " + version, nil
	},
	begin: func(ctx context.Context, t *trial) (contestant, error) {
		kubeconfig, err := t.kubeconfig(t.admin)
		if err != nil {
			return nil, err
		}
		f := &flux{controlled: controlled{nil, t.client, schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}, t.namespace, "bench"}}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		f.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(*f.archive.Load()) // it fails only if the controller has ended
		})}
		f.address = listener.Addr().String()
		go func() { _ = f.server.Serve(listener) }() // it returns when close closes it
		metrics, err := freeAddress()
		if err != nil {
			return nil, err
		}
		health, err := freeAddress()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(t.flux, "--watch-all-namespaces", "--enable-leader-election=false", "--log-level=error",
			"--feature-gates=ExternalArtifact=true", "--metrics-addr="+metrics, "--health-addr="+health)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "RUNTIME_NAMESPACE="+t.namespace)
		f.daemon, err = startDaemon(ctx, t, cmd, "http://"+health+"/readyz")
		return f, err
	},
}

// flux serves archives with the objects.
type flux struct {
	controlled
	server  *http.Server
	address string
	archive atomic.Pointer[[]byte]
}

var externalArtifacts = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "externalartifacts"}

// apply publishes an archive, and requests a reconciliation as flux reconcile does.
func (f *flux) apply(ctx context.Context, objects []object) error {
	archive, err := pack(objects)
	if err != nil {
		return err
	}
	f.archive.Store(&archive)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(archive))
	client := f.client.Resource(externalArtifacts).Namespace(f.namespace)
	options := metav1.PatchOptions{FieldManager: "peers", Force: new(true)}
	source := object{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact", "metadata": object{"name": f.name}, "spec": object{}}
	for _, subresource := range [][]string{nil, {"status"}} {
		text, err := documents(source)
		if err != nil {
			return err
		}
		if _, err := client.Patch(ctx, f.name, types.ApplyPatchType, []byte(text), options, subresource...); err != nil {
			return err
		}
		now := time.Now().UTC().Format(time.RFC3339)
		source["status"] = object{
			"artifact": object{
				"digest": digest, "path": "objects.tar.gz", "revision": "latest@" + digest, "size": len(archive),
				"url": "http://" + f.address + "/objects.tar.gz", "lastUpdateTime": now,
			},
			"conditions": []any{object{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored", "lastTransitionTime": now}},
		}
	}
	return f.request(ctx, object{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": object{"name": f.name},
		"spec": object{
			"interval": "1m", "prune": true, "wait": true, "timeout": "5m",
			"sourceRef": object{"kind": "ExternalArtifact", "name": f.name},
		},
	})
}

func (f *flux) close(ctx context.Context) error {
	_ = f.server.Close() // nothing is lost
	return f.daemon.close(ctx)
}

// pack returns a tar archive, compressed with gzip, of one file with the objects.
func pack(objects []object) ([]byte, error) {
	text, err := documents(objects...)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "objects.yaml", Mode: 0o644, Size: int64(len(text))}); err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
