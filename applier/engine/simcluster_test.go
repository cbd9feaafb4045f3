package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// object is an object of the simulated cluster. Its fields are strings, named
// "label:app", "spec:size"; those of a ConfigMap are its data.
type object struct {
	key        inventory.Key
	uid        types.UID
	version    int
	generation int
	fields     map[string]string
	managers   map[string]fieldSet
	finalizer  bool
	deleting   bool
	kept       bool // annotated so that it must not be deleted
	// Set by its controller.
	seenGeneration int
	ready, failed  bool
}

type fieldSet map[string]bool

// releaser is the field manager of labels that a graph changed without an apply.
const releaser = engine.FieldManager + " (update)"

// cluster simulates server-side apply with field owners, slow deletion and slow
// controllers.
type cluster struct {
	s       *sim
	version int
	uids    int
	objects map[inventory.Key]*object
	history map[string]*unstructured.Unstructured // by resourceVersion
	kinds   map[string]*availability              // of those with definitions
}

func newCluster(s *sim) *cluster {
	return &cluster{s: s, objects: map[inventory.Key]*object{}, history: map[string]*unstructured.Unstructured{}, kinds: definedKinds()}
}

func (c *cluster) create(key inventory.Key) *object {
	c.uids++
	o := &object{
		key: key, uid: types.UID("u" + strconv.Itoa(c.uids)), fields: map[string]string{}, managers: map[string]fieldSet{},
		finalizer: c.s.chance(0.2),
	}
	c.objects[key] = o
	return o
}

// apply simulates server-side apply of exactly these fields. Without force it returns
// the conflicts: fields that others own with other values.
func (o *object) apply(manager string, want map[string]string, force bool) (conflicts []string, changed bool) {
	for name, set := range o.managers {
		if name == manager {
			continue
		}
		for f := range set {
			if v, wanted := want[f]; wanted && o.fields[f] != v {
				conflicts = append(conflicts, f)
			}
		}
	}
	if len(conflicts) > 0 && !force {
		slices.Sort(conflicts)
		return conflicts, false
	}
	for name, set := range o.managers {
		if name != manager {
			maps.DeleteFunc(set, func(f string, _ bool) bool { v, wanted := want[f]; return wanted && o.fields[f] != v })
		}
	}
	for f := range o.managers[manager] {
		if _, again := want[f]; !again {
			delete(o.managers[manager], f)
			if !o.held(f) {
				delete(o.fields, f)
			}
			changed = true
		}
	}
	set := fieldSet{}
	for f, v := range want {
		changed = changed || o.fields[f] != v || !o.managers[manager][f]
		o.fields[f], set[f] = v, true
	}
	o.managers[manager] = set
	return nil, changed
}

func (o *object) held(f string) bool {
	for _, set := range o.managers {
		if set[f] {
			return true
		}
	}
	return false
}

// edit changes one field like kubectl edit; "" removes it.
func (o *object) edit(manager, f, v string) {
	for _, set := range o.managers {
		delete(set, f)
	}
	if v == "" {
		delete(o.fields, f)
		return
	}
	o.fields[f] = v
	if o.managers[manager] == nil {
		o.managers[manager] = fieldSet{}
	}
	o.managers[manager][f] = true
}

func (o *object) labels() map[string]string {
	labels := map[string]string{}
	for f, v := range o.fields {
		if name, ok := strings.CutPrefix(f, "label:"); ok {
			labels[name] = v
		}
	}
	return labels
}

// changed sets a new version of a written object, and notifies watches and its
// controller.
func (c *cluster) changed(o *object, specChanged bool) {
	var before *unstructured.Unstructured
	if o.version > 0 {
		before = c.history[strconv.Itoa(o.version)]
	}
	c.version++
	o.version = c.version
	if specChanged {
		o.generation++
	}
	if c.objects[o.key] != o {
		c.history[strconv.Itoa(o.version)] = o.unstructured()
		c.s.notify(before, c.history[strconv.Itoa(o.version)], true)
		return
	}
	c.history[strconv.Itoa(o.version)] = o.unstructured()
	c.s.notify(before, c.history[strconv.Itoa(o.version)], false)
	if specChanged && o.key.Kind == "Job" {
		c.s.after(c.s.upTo(5*time.Second), func() { c.finish(o) })
	}
	if specChanged && o.key.Kind == "Thing" {
		generation := o.generation
		c.s.after(c.s.upTo(5*time.Second), func() {
			if c.objects[o.key] == o && o.generation == generation {
				c.settle(o)
			}
		})
	}
}

// settle simulates the controller of Things: it makes them ready, lets them fail, or
// never reports a status.
func (c *cluster) settle(o *object) {
	o.seenGeneration = o.generation
	o.ready, o.failed = o.fields["spec:behave"] == "", o.fields["spec:behave"] == "fail"
	c.changed(o, false)
}

// finish simulates the controllers of Jobs: a Job completes, and is then deleted after its
// TTL.
func (c *cluster) finish(o *object) {
	if c.objects[o.key] != o || o.ready {
		return
	}
	o.ready = true
	c.changed(o, false)
	c.s.after(c.s.upTo(20*time.Second), func() {
		if c.objects[o.key] == o {
			c.s.logf("TTL: deletes %s", o.key.Name)
			c.remove(o)
		}
	})
}

// remove deletes an object, at once or when its finalizer is removed.
func (c *cluster) remove(o *object) {
	if o.deleting {
		return
	}
	if o.finalizer {
		o.deleting = true
		c.changed(o, false)
		c.s.after(c.s.upTo(8*time.Second), func() { c.gone(o) })
		return
	}
	c.gone(o)
}

func (c *cluster) gone(o *object) {
	if c.objects[o.key] == o {
		delete(c.objects, o.key)
		c.changed(o, false)
	}
}

// good reports whether an object exists, is ready, and isn't being deleted.
func (o *object) good() bool {
	switch {
	case o == nil || o.deleting:
		return false
	case o.key.Kind == "Job":
		return o.ready
	}
	return o.key.Kind != "Thing" || o.ready && o.seenGeneration == o.generation
}

func (o *object) unstructured() *unstructured.Unstructured {
	labels, data := map[string]any{}, map[string]any{}
	for f, v := range o.fields {
		if name, ok := strings.CutPrefix(f, "label:"); ok {
			labels[name] = v
		} else {
			data[strings.TrimPrefix(f, "spec:")] = v
		}
	}
	metadata := map[string]any{
		"name": o.key.Name, "uid": string(o.uid), "resourceVersion": strconv.Itoa(o.version),
		"labels": labels, "managedFields": o.managedFields(),
	}
	if labels["example.com/copy"] != nil { // made by the controller of another object
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "Thing", "name": "owner", "uid": "owner"}}
	}
	if o.key.Namespace != "" {
		metadata["namespace"] = o.key.Namespace
	}
	if o.kept {
		metadata["annotations"] = map[string]any{"helm.sh/resource-policy": "keep"}
	}
	if o.finalizer {
		metadata["finalizers"] = []any{"example.com/hold"}
	}
	if o.deleting {
		metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	u := map[string]any{"kind": o.key.Kind, "metadata": metadata}
	if o.key.Kind == "ConfigMap" {
		u["apiVersion"], u["data"] = "v1", data
		return &unstructured.Unstructured{Object: u}
	}
	metadata["generation"] = int64(o.generation)
	u["apiVersion"], u["spec"] = o.key.Group+"/v1", data
	condition := func(kind string, yes bool) any {
		return map[string]any{"type": kind, "status": map[bool]string{true: "True", false: "False"}[yes], "reason": "Simulated"}
	}
	if o.key.Kind == "Job" && o.ready {
		u["status"] = map[string]any{"conditions": []any{condition("Complete", true)}}
	}
	if o.seenGeneration > 0 {
		status := map[string]any{"observedGeneration": int64(o.seenGeneration), "conditions": []any{condition("Ready", o.ready)}}
		if o.failed {
			status["conditions"] = []any{condition("Ready", false), condition("Stalled", true)}
		}
		if o.ready {
			status["address"] = "at-" + string(o.uid)
		}
		u["status"] = status
	}
	return &unstructured.Unstructured{Object: u}
}

func (o *object) managedFields() []any {
	body := "f:spec"
	if o.key.Kind == "ConfigMap" {
		body = "f:data"
	}
	var entries []any
	for _, manager := range slices.Sorted(maps.Keys(o.managers)) {
		labels, data := map[string]any{}, map[string]any{}
		for f := range o.managers[manager] {
			if name, ok := strings.CutPrefix(f, "label:"); ok {
				labels["f:"+name] = map[string]any{}
			} else {
				data["f:"+strings.TrimPrefix(f, "spec:")] = map[string]any{}
			}
		}
		operation, name := "Update", manager
		if manager == engine.FieldManager {
			operation = "Apply"
		} else if manager == releaser {
			name = engine.FieldManager
		}
		entries = append(entries, map[string]any{
			"manager": name, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:labels": labels}, body: data},
		})
	}
	return entries
}

// fieldsOf returns the fields of a desired object.
func fieldsOf(object map[string]any) map[string]string {
	u := unstructured.Unstructured{Object: object}
	want := map[string]string{}
	for name, v := range u.GetLabels() {
		want["label:"+name] = v
	}
	for _, body := range []string{"spec", "data"} {
		m, _ := object[body].(map[string]any)
		for name, v := range m {
			want["spec:"+name] = fmt.Sprint(v)
		}
	}
	return want
}
