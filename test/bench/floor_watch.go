package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// snapshot is a Deployment or a ResourceGraph, with the fields that the floor
// reads. Decoding only these is cheaper than decoding a whole object. Fields that one of them does not
// have stay zero, which ready relies on.
type snapshot struct {
	Metadata struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
		Generation      int64  `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas int64 `json:"replicas"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		UpdatedReplicas    int64 `json:"updatedReplicas"`
		AvailableReplicas  int64 `json:"availableReplicas"`
		Conditions         []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// ready reports whether the newest generation of a Deployment is available, or a
// ResourceGraph is ready. A ResourceGraph has no replicas, so the comparisons of
// replicas hold for it.
func (s snapshot) ready() bool {
	if s.Status.ObservedGeneration < s.Metadata.Generation || s.Status.UpdatedReplicas < s.Spec.Replicas ||
		s.Status.AvailableReplicas < s.Spec.Replicas {
		return false
	}
	for _, c := range s.Status.Conditions {
		if c.Type == "Available" || c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// watch opens a watch of the awaited kind that begins with the existing objects.
// If the server closes it, because it is slow, the watch resumes at the last
// version. Only the first attempt returns an error; later ones end the goroutine.
func (f *floor) watch(ctx context.Context, events chan<- snapshot) error {
	body, err := f.openWatch(ctx, "")
	if err != nil {
		return err
	}
	go func() {
		for last := ""; ; {
			last = forward(ctx, body, events, last)
			if body, err = f.openWatch(ctx, last); err != nil {
				return // the run has ended
			}
		}
	}()
	return nil
}

// openWatch opens a watch after a resource version. "" means that it begins with
// an event for every existing object, and a bookmark after these.
func (f *floor) openWatch(ctx context.Context, version string) (io.ReadCloser, error) {
	query := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version}}
	if version == "" {
		query.Set("sendInitialEvents", "true")
		query.Set("resourceVersionMatch", "NotOlderThan")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.host+f.awaited+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("watch of %s: %s", f.awaited, response.Status)
	}
	return response.Body, nil
}

// forward sends the objects of watch events to a channel until the watch ends. It returns the
// resource version at which the watch resumes: the last one, or "" if the events of the existing
// objects, which have no order, weren't complete, or if the server doesn't have the events after
// the last one any more.
func forward(ctx context.Context, body io.ReadCloser, events chan<- snapshot, last string) string {
	defer body.Close()
	for d := json.NewDecoder(body); ; {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if d.Decode(&event) != nil {
			return last
		}
		var object snapshot
		if event.Type == "ERROR" || json.Unmarshal(event.Object, &object) != nil {
			return ""
		}
		if last != "" || event.Type == "BOOKMARK" {
			last = object.Metadata.ResourceVersion
		}
		if event.Type == "BOOKMARK" {
			continue
		}
		select {
		case events <- object:
		case <-ctx.Done():
			return last
		}
	}
}
