package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
	"github.com/pequod-io/pequod/inventory/stored"
)

// errSuperseded says that somebody else wrote the inventory: it is to be read
// before anything else is done.
var errSuperseded = errors.New("somebody else has changed the inventory since it was read")

// A status is written when an execution begins and when it ends. In between it
// is only if that takes long, and later if other requests have to wait: of a
// thousand graphs that come at once, each would take long for such writes alone.
const (
	quietAtFirst = 2 * time.Second
	quiet        = 5 * time.Second
	giveWay      = 20 * time.Second
)

// publish writes the status of a run that takes long. It returns when to.
func (r *run) publish(now time.Time) time.Time {
	if !r.dirty || r.writing || r.recording != nil {
		return time.Time{}
	}
	due := r.began.Add(quietAtFirst)
	if !r.wrote.IsZero() && r.wrote.Add(quiet).After(due) {
		due = r.wrote.Add(quiet)
	}
	if now.Before(due) {
		return due
	}
	if now.Before(due.Add(giveWay)) && r.d.c.share.Crowded() {
		return now.Add(quietAtFirst)
	}
	r.dirty = false
	// The inventory stays what was recorded: what is said about it is the engine's.
	next := r.compose(engine.Executing, nil, now)
	if !same(&r.status, next) {
		r.write(next, func(err error) {
			if errors.Is(err, errSuperseded) {
				r.unwritten(err)
			}
		})
	}
	return time.Time{}
}

// record writes the inventory, with whatever else there is to say.
func (r *run) record() {
	a := r.recording
	if a == nil || r.writing {
		return
	}
	r.recording = nil
	now := r.d.c.now()
	if r.outlook == engine.Completed && len(a.Inventory.Entries) == 0 && r.goal.verb != execute {
		// The graph goes, and the inventory with it.
		r.d.post(func() { r.recorded(a, nil) })
		return
	}
	if r.outlook == engine.Completed || r.outlook == engine.Stuck {
		r.conclude(r.outlook, now)
	}
	r.writeWith(r.compose(r.outlook, a.Inventory, now), a.Inventory, func(err error) { r.recorded(a, err) })
}

func (r *run) recorded(a *engine.Action, err error) {
	r.flying--
	r.engine.Done(*a, engine.Outcome{Saved: a.Inventory, Err: err})
	if reason, _ := unwritable(err); reason != "" || errors.Is(err, errSuperseded) || apierrors.IsNotFound(err) {
		r.unwritten(err)
	}
}

// write writes the status, and then what follows is done.
func (r *run) write(next *v1alpha1.ResourceGraphStatus, then func(error)) {
	r.writeWith(next, nil, then)
}

func (r *run) writeWith(next *v1alpha1.ResourceGraphStatus, inv *inventory.Inventory, then func(error)) {
	r.writing, r.dirty = true, false
	c, last := r.d.c, written{r.d.version, r.status}
	r.job(func(ctx context.Context) func() {
		err := r.keep(ctx, inv)
		var version string
		if err == nil {
			version, err = c.write(ctx, r.graph, last, next)
		}
		if err == nil {
			err = r.tidy(ctx, inv)
		}
		return func() {
			r.writing, r.wrote = false, c.now()
			if err == nil {
				r.status, r.d.attempts = *next, 0 // as with an object that was written
				if older(r.d.version, version) {
					r.d.version = version
				}
			}
			then(err)
			r.record()
		}
	})
}

// written is a status as it is known to be in the cluster.
type written struct {
	version string
	status  v1alpha1.ResourceGraphStatus
}

// write changes a status from what is stored to what is to be. If the graph was
// changed meanwhile, that is fine unless its inventory was.
func (c *controller) write(ctx context.Context, rg *v1alpha1.ResourceGraph, last written, next *v1alpha1.ResourceGraphStatus) (string, error) {
	for range 5 {
		patch, err := difference(&last.status, next)
		if err != nil {
			return "", err
		}
		version, err := c.patch(ctx, rg.Namespace, rg.Name, map[string]any{
			"metadata": map[string]any{"uid": rg.UID, "resourceVersion": last.version},
			"status":   patch,
		}, "status")
		if !apierrors.IsConflict(err) {
			return version, err
		}
		live, err := c.read(ctx, keyOf(rg))
		if err != nil {
			return "", err
		}
		if live.UID != rg.UID || !sameJSON(live.Status.Inventory, last.status.Inventory) && !sameJSON(live.Status.Inventory, next.Inventory) {
			return "", errSuperseded
		}
		last = written{live.ResourceVersion, live.Status}
	}
	return "", errBusy
}

// difference is a merge patch from one status to another.
func difference(from, to *v1alpha1.ResourceGraphStatus) (json.RawMessage, error) {
	a, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(a, b)
}

func same(a, b *v1alpha1.ResourceGraphStatus) bool { return sameJSON(a, b) }

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// keep writes an inventory that doesn't fit in the status to ConfigMaps.
func (r *run) keep(ctx context.Context, inv *inventory.Inventory) error {
	if inv == nil || stored.Fits(inv) {
		return nil
	}
	return configmap.NewStore(r.client.REST()).Save(ctx, inv)
}

// tidy removes the ConfigMaps of an inventory that is in the status now.
func (r *run) tidy(ctx context.Context, inv *inventory.Inventory) error {
	if inv == nil || !stored.Fits(inv) || inv.Stored == nil {
		return nil
	}
	return configmap.NewStore(r.client.REST()).Remove(ctx, inv)
}
