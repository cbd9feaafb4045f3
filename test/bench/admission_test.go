//go:build linux

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/admission/instances"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/operator/worker"
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
			server := httptest.NewTLSServer(&admission.Webhook{Handler: instances.New(instances.Options{
				Validator: instance.Pooled(pool, nil),
				Platform:  func(schema.GroupKind) *catalog.Entry { return entry },
			})})
			defer server.Close()
			client := server.Client()
			client.Transport.(*http.Transport).MaxIdleConnsPerHost = 25 // as the API server
			took := make([]time.Duration, b.N)
			pace := time.NewTicker(time.Second / 200)
			defer pace.Stop()
			var all sync.WaitGroup
			for i := range b.N {
				<-pace.C
				body := review(b, i, differ)
				all.Go(func() {
					began := time.Now()
					response, err := client.Post(server.URL, "application/json", bytes.NewReader(body))
					if err != nil {
						b.Error(err)
						return
					}
					defer response.Body.Close()
					var review admissionv1.AdmissionReview
					if err := json.NewDecoder(response.Body).Decode(&review); err != nil || !review.Response.Allowed {
						b.Errorf("%+v, %v", review.Response, err)
					}
					took[i] = time.Since(began)
				})
			}
			all.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// review returns a review of an instance that is created.
func review(b *testing.B, i int, differs bool) []byte {
	b.Helper()
	name := "web"
	if differs {
		name = fmt.Sprintf("web-%d", i)
	}
	raw := fmt.Appendf(nil, `{"apiVersion": "pequod.io/v1alpha1", "kind": "WebService", "metadata": {"name": %q, "namespace": "shop"}, "spec": {"image": "nginx:latest", "port": 8080, "replicas": 3}}`, name)
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Operation: admissionv1.Create, Namespace: "shop", Name: name, Object: runtime.RawExtension{Raw: raw},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	return body
}
