package graphs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// BenchmarkLatency sends 200 reviews a second of graphs with three nodes to the webhook over
// HTTPS, which asks a real API server. Authors that may impersonate the account cost one
// review of access in 10 seconds, those with rights of their own as many as the nodes need.
//
//	go test -run '^$' -bench Latency -benchtime 2000x ./operator/admission/graphs
func BenchmarkLatency(b *testing.B) {
	ctrllog.SetLogger(logr.Discard())
	f := newFixture(b)
	const nodes = configmap + ", " + second + `, {id: third, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: third}}}`
	for _, user := range []string{"impersonator", "configmaps", "cluster-admin"} {
		for _, remembers := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/remembers=%t", user, remembers), func(b *testing.B) {
				w := f.webhook(b, f.Config)
				server := httptest.NewTLSServer(&admission.Webhook{Handler: w})
				defer server.Close()
				request := f.request(user, f.raw(b, "", "["+nodes+"]"), runtime.RawExtension{}).AdmissionRequest
				body, err := json.Marshal(admissionv1.AdmissionReview{
					TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Request: &request,
				})
				if err != nil {
					b.Fatal(err)
				}
				client := server.Client()
				client.Transport.(*http.Transport).MaxIdleConnsPerHost = 25 // as the API server
				took := make([]time.Duration, b.N)
				pace := time.NewTicker(time.Second / 200)
				defer pace.Stop()
				var all sync.WaitGroup
				for i := range b.N {
					<-pace.C
					if !remembers {
						for _, key := range w.reviews.known.Keys() {
							w.reviews.known.Remove(key)
						}
					}
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
}
