package identity

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestLargeAnswers lists the Pods of a tenant who has made many large ones. The answer isn't read to its end.
// That to a watch is.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	sent := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		n := 0
		for chunk := bytes.Repeat([]byte(" "), 1<<20); n < 10*maxAnswer; {
			wrote, err := w.Write(chunk)
			if n += wrote; err != nil {
				break
			}
		}
		sent <- n
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	accounts := New(config, &http.Client{Transport: http.DefaultTransport})
	client, err := accounts.Client("shop", "runner")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Pods.List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "the answer is too large") {
		t.Errorf("the error is %v", err)
	}
	if n := <-sent; n > 5*maxAnswer { // more than is read is in buffers
		t.Errorf("the server could send %d bytes", n)
	}
	_, watching := accounts.As("shop", "runner")
	answer, err := watching.Get(server.URL + "/api/v1/pods?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); n != 10*maxAnswer || err != nil {
		t.Errorf("%d bytes of a watch were read: %v", n, err)
	}
}
