package ui_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/harness"
)

// Only the browser that opened the address reads the page, and no other site.
func TestGuard(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	address, stop := serve(t, c.Kubeconfig, "-n", c.Namespace)
	browser, page := client(t, address)
	host := strings.TrimPrefix(page, "http://")
	host = host[:strings.Index(host, "/")]
	for _, test := range []struct {
		name    string
		client  *http.Client
		method  string
		url     string
		headers map[string]string
		want    int
	}{
		{"the page", browser, "GET", page, nil, 200},
		{"the page from a page of it", browser, "GET", page, map[string]string{"Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"}, 200},
		{"no cookie", http.DefaultClient, "GET", page, nil, 401},
		{"no cookie, the list", http.DefaultClient, "GET", page + "graphs", nil, 401},
		{"a wrong cookie", http.DefaultClient, "GET", page, map[string]string{"Cookie": "pequod-ui=" + strings.Repeat("0", 64)}, 401},
		{"a used token", http.DefaultClient, "GET", address, nil, 401},
		{"a used token with the cookie", browser, "GET", address, nil, 200},
		{"a wrong token", http.DefaultClient, "GET", page + "?token=x", nil, 401},
		{"an empty token", http.DefaultClient, "GET", page + "?token=", nil, 401},
		{"no path", browser, "GET", "http://" + host + "/", nil, 401},
		{"another path", browser, "GET", page + "nothing", nil, 404},
		{"another host", browser, "GET", page, map[string]string{"Host": "evil.example:80"}, 421},
		{"another host without a port", browser, "GET", page, map[string]string{"Host": "evil.example"}, 421},
		{"a host that looks alike", browser, "GET", page, map[string]string{"Host": "127.0.0.1.evil.example"}, 421},
		{"another origin", browser, "GET", page + "graphs", map[string]string{"Origin": "http://evil.example"}, 403},
		{"no origin", browser, "GET", page + "graphs", map[string]string{"Origin": "null"}, 403},
		{"another port", browser, "GET", page + "graphs", map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		{"another site", browser, "GET", page + "graphs", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"another port without an origin", browser, "GET", page, map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"a link of another site", http.DefaultClient, "GET", address, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 401},
		{"a script of another site", browser, "GET", address, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		{"POST", browser, "POST", page, nil, 405},
		{"PUT", browser, "PUT", page + "graphs", nil, 405},
		{"DELETE", browser, "DELETE", page + "graphs/a/b", nil, 405},
		{"OPTIONS", browser, "OPTIONS", page, nil, 405},
		{"HEAD", browser, "HEAD", page, nil, 405},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range test.headers {
			r.Header.Set(name, value)
			if name == "Host" {
				r.Host = value
			}
		}
		answer, err := test.client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != test.want {
			t.Errorf("%s: %s, want %d: %s", test.name, answer.Status, test.want, body)
		}
		h := answer.Header
		if h.Get("X-Frame-Options") != "DENY" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", test.name, h)
		}
	}

	// A stream ends with the command.
	r, err := http.NewRequestWithContext(t.Context(), "GET", page+"graphs", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry:") {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	began := time.Now()
	stop()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("an open page delays the end by %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r, _ = http.NewRequestWithContext(ctx, "GET", page, nil)
	if answer, err := http.DefaultClient.Do(r); err == nil {
		answer.Body.Close()
		t.Error("the server is still there")
	}
}

// TestFirstGraph checks that the page opens the graph that an argument names.
func TestFirstGraph(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	address, _ := serve(t, c.Kubeconfig, "-n", c.Namespace, "resourcegraph/web")
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(body), "/#"+c.Namespace+"/web\">") {
		t.Errorf("%s, %v", body, err)
	}
}
