// Package latency measures how soon admission webhooks answer.
//
// [Measure] is the entry point. The package has no handlers, and judges nothing.
package latency

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	// rate is the number of requests in a second.
	rate = 200
	// connections is how many idle connections to a webhook the API server keeps.
	connections = 25
)

// Measure sends b.N requests to a handler over HTTPS, 200 a second. If there are at least 100, it
// reports the median and the 99th percentile of the time until the answer. request returns the request with a number; it is
// called before the request is sent. The handler must allow all of them.
func Measure(b *testing.B, handler admission.Handler, request func(i int) *admissionv1.AdmissionRequest) {
	b.Helper()
	server := httptest.NewTLSServer(&admission.Webhook{Handler: handler})
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = connections
	took := make([]time.Duration, b.N)
	pace := time.NewTicker(time.Second / rate)
	defer pace.Stop()
	var all sync.WaitGroup
	for i := range b.N {
		<-pace.C
		body, err := json.Marshal(admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
			Request:  request(i),
		})
		if err != nil {
			b.Fatal(err)
		}
		all.Go(func() {
			began := time.Now()
			allowed(b, client, server.URL, body)
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	if b.N < 100 {
		return
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// allowed sends a review, and fails b unless the answer allows the request.
func allowed(b *testing.B, client *http.Client, url string, body []byte) {
	response, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	defer response.Body.Close()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&review); err != nil || review.Response == nil || !review.Response.Allowed {
		b.Errorf("%+v, %v", review.Response, err)
	}
}
