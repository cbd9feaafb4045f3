package graphs

import (
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/pequod-io/pequod/test/latency"
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
				request := f.request(user, f.raw(b, "", "["+nodes+"]"), runtime.RawExtension{}).AdmissionRequest
				latency.Measure(b, w, func(int) *admissionv1.AdmissionRequest {
					if !remembers {
						for _, key := range w.reviews.known.Keys() {
							w.reviews.known.Remove(key)
						}
					}
					return &request
				})
			})
		}
	}
}
