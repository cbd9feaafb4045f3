package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

// maxInFlight is how many requests of the floor are in flight at a time. The
// applier has the same limit by default, so a higher one would compare limits and
// not programs.
const maxInFlight = 16

// floor sends the requests that no applier can avoid, and no others: one per
// object, and a watch of the kind that it waits for. It uses bare HTTP instead of
// client-go, and encodes the objects beforehand. A ratio of 1.0 to it means that
// planning, comparing and keeping an inventory cost no time.
type floor struct {
	client *http.Client
	// host is the URL of the API server, and levels are the requests in the order
	// of application.
	host   string
	levels [][]call
	// awaited is the path of the collection whose objects must become ready, in one namespace
	// or in all. A workload has one such kind.
	awaited string
}

// call is the apply request of an object.
type call struct {
	id, path string // the id is "namespace/name"
	body     []byte
	awaited  bool
}

// newFloor encodes the objects of a workload in some namespaces. Everything that costs time
// before the first request happens here.
func newFloor(config *rest.Config, levels [][]object, namespaces []string) (*floor, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	f := &floor{client: client, host: config.Host}
	for _, objects := range levels {
		var calls []call
		for _, o := range objects {
			// The core group is served below /api and all others below /apis.
			prefix := "/apis/"
			if !strings.Contains(o.kind.apiVersion, "/") {
				prefix = "/api/"
			}
			version := prefix + o.kind.apiVersion
			all := version + "/namespaces/" + o.namespace + "/" + o.kind.resource
			body, err := json.Marshal(o.body)
			if err != nil {
				return nil, err
			}
			calls = append(calls, call{o.namespace + "/" + o.name, all + "/" + o.name, body, o.kind.awaited})
			if o.kind.awaited {
				f.awaited = all
				if len(namespaces) > 1 {
					f.awaited = version + "/" + o.kind.resource
				}
			}
		}
		f.levels = append(f.levels, calls)
	}
	return f, nil
}

// apply applies every level as soon as the awaited objects of the level before it
// are ready.
//
// The watch is opened first, so that no event is missed. While a level's requests
// are in flight, events are read already: an object may be ready before the
// request for its neighbor has been answered. Only this goroutine uses ready.
func (f *floor) apply(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan snapshot, 256)
	if err := f.watch(ctx, events); err != nil {
		return err
	}
	ready := map[string]bool{}
	for _, calls := range f.levels {
		sent := f.sendAll(ctx, calls)
		for _, c := range calls {
			for c.awaited && !ready[c.id] {
				select {
				case s := <-events:
					ready[s.Metadata.Namespace+"/"+s.Metadata.Name] = s.ready()
				case err := <-sent:
					if err != nil {
						return err
					}
					// A nil channel is never ready, so select does not choose it
					// again.
					sent = nil
				}
			}
		}
		if sent != nil {
			if err := <-sent; err != nil {
				return err
			}
		}
	}
	return nil
}

// sendAll sends one request per object, at most maxInFlight at a time. The
// channel receives the first error, or nil, when all have been answered. It is
// buffered, so that the goroutine ends even if the caller has returned.
func (f *floor) sendAll(ctx context.Context, calls []call) <-chan error {
	done := make(chan error, 1)
	go func() {
		var g errgroup.Group
		g.SetLimit(maxInFlight)
		for _, c := range calls {
			g.Go(func() error { return f.send(ctx, c) })
		}
		done <- g.Wait()
	}()
	return done
}

// send applies one object and reads the whole response, so that the connection
// can be used again. An answer of 300 or above is an error.
func (f *floor) send(ctx context.Context, c call) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, f.host+c.path+"?fieldManager=floor", bytes.NewReader(c.body))
	if err != nil {
		return err
	}
	// The content type makes a PATCH a server-side apply.
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	response, err := f.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s: %s", c.path, response.Status, text)
	}
	return err
}
