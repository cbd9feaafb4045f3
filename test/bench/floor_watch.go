package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// event is a watch event with the fields that the floor reads. Decoding only
// these is cheaper than decoding a whole object.
type event struct {
	Type   string   `json:"type"`
	Object snapshot `json:"object"`
	kind   kind
}

// snapshot is a Deployment or a ResourceGraph. Fields that one of them does not
// have stay zero, which ready relies on.
type snapshot struct {
	Metadata struct {
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

// watch opens a watch of a kind that begins with the existing objects. If the
// server closes it, because it is slow, the watch resumes at the last version.
// Only the first attempt returns an error; later ones end the goroutine.
func (f *floor) watch(ctx context.Context, k kind, events chan<- event) error {
	body, err := f.openWatch(ctx, k, "")
	if err != nil {
		return err
	}
	go func() {
		for last := ""; ; {
			last = forward(ctx, k, body, events, last)
			if body, err = f.openWatch(ctx, k, last); err != nil {
				return // the run has ended
			}
		}
	}()
	return nil
}

// openWatch opens a watch after a resource version. "" means that it begins with
// an event for every existing object.
func (f *floor) openWatch(ctx context.Context, k kind, version string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.host+f.kinds[k]+"?watch=1&resourceVersion="+version, nil)
	if err != nil {
		return nil, err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("watch of %s: %s", k.resource, response.Status)
	}
	return response.Body, nil
}

// forward sends the events of a watch to a channel until the watch ends. It
// returns the last resource version that it has seen, or the given one if it saw
// no event.
func forward(ctx context.Context, k kind, body io.ReadCloser, events chan<- event, last string) string {
	defer body.Close()
	for d := json.NewDecoder(body); ; {
		e := event{kind: k}
		if d.Decode(&e) != nil {
			return last
		}
		last = e.Object.Metadata.ResourceVersion
		select {
		case events <- e:
		case <-ctx.Done():
			return last
		}
	}
}

// remove deletes the levels in reverse order. It deletes a level when the objects
// of the level after it no longer exist. Therefore it watches all kinds, not only
// the awaited ones.
func (f *floor) remove(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan event, 256)
	for k := range f.kinds {
		if err := f.watch(ctx, k, events); err != nil {
			return err
		}
	}
	gone := map[string]bool{}
	for i := len(f.levels) - 1; i >= 0; i-- {
		sent := f.sendAll(ctx, f.levels[i], http.MethodDelete, "")
		for _, c := range f.levels[i] {
			for !gone[c.kind.resource+"/"+c.name] {
				select {
				case e := <-events:
					if e.Type == "DELETED" {
						gone[e.kind.resource+"/"+e.Object.Metadata.Name] = true
					}
				case err := <-sent:
					if err != nil {
						return err
					}
					sent = nil
				}
			}
		}
	}
	return nil
}
