package kube

import (
	"context"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// limitRequests applies the timeout of config to each request except watches, and
// removes it from config. client-go would end watches, too, and every run would list
// its objects again after each timeout.
func limitRequests(config *rest.Config) {
	if config.Timeout == 0 {
		return
	}
	limit := config.Timeout
	config.Timeout = 0
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &limited{rt, limit} })
}

// limited is a RoundTripper that gives up a request after a time limit, which
// includes the reading of the response.
type limited struct {
	http.RoundTripper
	limit time.Duration
}

func (l *limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") == "true" {
		return l.RoundTripper.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), l.limit)
	response, err := l.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &cancelingBody{response.Body, cancel}
	return response, nil
}

// cancelingBody releases the timer of a request when its response has been read.
type cancelingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelingBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
