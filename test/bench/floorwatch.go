package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// sight is an event of a watch, with what of it counts.
type sight struct {
	Type   string   `json:"type"`
	Object snapshot `json:"object"`
	kind   kind
	at     time.Time
}

type snapshot struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
		Generation      int64  `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas int64 `json:"replicas"`
	} `json:"spec"`
	Data   map[string]string `json:"data"`
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

// available says whether the newest version of a Deployment is, or whether a
// ResourceGraph is ready.
func (s snapshot) available() bool {
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

// watch opens a watch of a kind, which begins with what is there. The server
// ends a watch that it finds slow: then it goes on from what was seen last.
func (f *floor) watch(ctx context.Context, k kind, sights chan<- sight) error {
	body, err := f.openWatch(ctx, k, "")
	if err != nil {
		return err
	}
	go func() {
		for last := ""; ; {
			last = follow(ctx, k, body, sights, last)
			if body, err = f.openWatch(ctx, k, last); err != nil {
				return // it ends with the run
			}
		}
	}()
	return nil
}

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

// follow passes on what a watch sees until it ends, and returns the version that
// was seen last, none if that is too old to go on from.
func follow(ctx context.Context, k kind, body io.ReadCloser, sights chan<- sight, last string) string {
	defer body.Close()
	for d := json.NewDecoder(body); ; {
		s := sight{kind: k}
		if d.Decode(&s) != nil {
			return last
		}
		s.at, last = time.Now(), s.Object.Metadata.ResourceVersion
		select {
		case sights <- s:
		case <-ctx.Done():
			return last
		}
	}
}

// remove deletes every level, the last first, when the one after it is gone.
func (f *floor) remove(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sights := make(chan sight, 256)
	for k := range f.kinds {
		if err := f.watch(ctx, k, sights); err != nil {
			return err
		}
	}
	gone := map[string]bool{}
	for i := len(f.levels) - 1; i >= 0; i-- {
		sent := f.sendAll(ctx, f.levels[i], http.MethodDelete, "")
		for _, c := range f.levels[i] {
			for !gone[c.kind.resource+"/"+c.name] {
				select {
				case s := <-sights:
					if s.Type == "DELETED" {
						gone[s.kind.resource+"/"+s.Object.Metadata.Name] = true
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
