//go:build linux

package main_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/admission/instances"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/test/latency"
)

// BenchmarkAdmission sends 200 reviews a second of instances of the module webservice to the
// webhook over HTTPS, each of another instance, or all of one. The aim is a p99 of 20 ms.
//
//	go test -run '^$' -bench Admission -benchtime 2000x ./test/bench
func BenchmarkAdmission(b *testing.B) {
	ctrllog.SetLogger(logr.Discard())
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	spec := v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice"}}
	opened, err := transform.Open(b.Context(), &modules.Opener{}, "web", spec, func(string) modules.Place { return modules.Place{} })
	if err != nil {
		b.Fatal(err)
	}
	sources, err := opened.Encode()
	if err != nil {
		b.Fatal(err)
	}
	pool, err := worker.New(worker.Options{Dir: b.TempDir(), Command: []string{filepath.Join(bin, "pequod-manager"), "worker"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	entry := &catalog.Entry{Transform: types.NamespacedName{Namespace: "shop", Name: "web"}, Digest: transform.Digest(sources), Sources: sources}
	if _, err := pool.Load(b.Context(), worker.Key{Transform: entry.Transform, Digest: entry.Digest}, sources); err != nil {
		b.Fatal(err)
	}
	for _, differ := range []bool{true, false} {
		b.Run(fmt.Sprintf("differ=%t", differ), func(b *testing.B) {
			handler := instances.New(instances.Options{
				Validator: instance.Pooled(pool, nil),
				Platform:  func(schema.GroupKind) *catalog.Entry { return entry },
			})
			latency.Measure(b, handler, func(i int) *admissionv1.AdmissionRequest { return creation(i, differ) })
		})
	}
}

// creation returns the request to create an instance.
func creation(i int, differs bool) *admissionv1.AdmissionRequest {
	name := "web"
	if differs {
		name = fmt.Sprintf("web-%d", i)
	}
	raw := fmt.Appendf(nil, `{"apiVersion": "pequod.io/v1alpha1", "kind": "WebService", "metadata": {"name": %q, "namespace": "shop"}, "spec": {"image": "nginx:latest", "port": 8080, "replicas": 3}}`, name)
	return &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Create, Namespace: "shop", Name: name, Object: runtime.RawExtension{Raw: raw},
	}
}
