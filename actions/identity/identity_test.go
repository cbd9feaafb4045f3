package identity

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
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

// TestOnce reads a Secret three times in one context, and again in the next one. What can't be read is asked for again.
func TestOnce(t *testing.T) {
	t.Parallel()
	var gets atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := gets.Add(1)
		if n == 1 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"token"},"data":{"n":"%s"}}`, base64.StdEncoding.EncodeToString([]byte{byte(n)}))
	}))
	defer server.Close()
	accounts := New(&rest.Config{Host: server.URL}, &http.Client{Transport: http.DefaultTransport})
	read := func(ctx context.Context, account string) string {
		data, err := accounts.Secret(ctx, "shop", account, "token")
		if err != nil {
			return "refused"
		}
		return fmt.Sprint(data["n"][0])
	}
	first, second := Once(t.Context()), Once(t.Context())
	var got []string
	for _, ctx := range []context.Context{first, first, first, second, first, t.Context()} {
		got = append(got, read(ctx, "runner"))
	}
	got = append(got, read(first, "other"))
	if want := "refused 2 2 3 2 4 5"; strings.Join(got, " ") != want {
		t.Errorf("%v; want %s", got, want)
	}
}
