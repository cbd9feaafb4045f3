package engine

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/inventory"
)

// Observations come from answers and from watches at once. The newest one counts, in
// whatever order they arrive. Otherwise a delete would wait for an object that was
// gone before its answer arrived.
func TestObserveInAnyOrder(t *testing.T) {
	owner := inventory.Owner{Namespace: "ns", Name: "g"}
	key := inventory.Key{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "a"}
	seen := func(uid, version string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
		obj.SetNamespace("ns")
		obj.SetName("a")
		obj.SetLabels(owner.Labels())
		obj.SetUID(types.UID(uid))
		obj.SetResourceVersion(version)
		return obj
	}
	listing := func(version string, objects ...unstructured.Unstructured) func(*Engine) {
		return func(e *Engine) {
			e.ObserveAll(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "ns", "", version, objects)
		}
	}
	named := func(version string) func(*Engine) {
		return func(e *Engine) {
			e.ObserveAll(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "ns", "a", version, nil)
		}
	}
	answer := func(uid, version string) func(*Engine) { return func(e *Engine) { e.Observe(seen(uid, version)) } }
	went := func(uid, version string) func(*Engine) {
		return func(e *Engine) { e.ObserveGone(seen(uid, version)) }
	}
	read := func(uid, version string) func(*Engine) {
		return func(e *Engine) {
			e.startPrune()
			e.Done(Action{Verb: Read, Key: key, listed: e.cache.listed[locationOf(key)]}, Outcome{Object: seen(uid, version)})
		}
	}
	readBefore := func(event func(*Engine), uid, version string) func(*Engine) {
		return func(e *Engine) {
			event(e)
			e.startPrune()
			e.Done(Action{Verb: Read, Key: key}, Outcome{Object: seen(uid, version)})
		}
	}
	const unknown, absent = "unknown", "absent"
	for _, test := range []struct {
		name string
		what []func(*Engine)
		want string // the version, unknown or absent
	}{
		{"newer", []func(*Engine){answer("u", "3"), answer("u", "4")}, "4"},
		{"older", []func(*Engine){answer("u", "4"), answer("u", "3")}, "4"},
		{"another of its name", []func(*Engine){answer("u", "4"), answer("v", "5")}, "5"},
		{"an answer after the end", []func(*Engine){answer("u", "3"), went("u", "5"), answer("u", "4")}, absent},
		{"the end of another", []func(*Engine){answer("v", "5"), went("u", "6")}, "5"},
		{"another after the end", []func(*Engine){answer("u", "3"), went("u", "4"), answer("v", "5")}, "5"},
		{"not listed", []func(*Engine){answer("u", "3"), listing("7")}, unknown},
		{"newer than the listing", []func(*Engine){answer("u", "8"), listing("7")}, "8"},
		{"listed", []func(*Engine){answer("u", "3"), listing("7", *seen("u", "5"))}, "5"},
		{"an answer after a listing without it", []func(*Engine){answer("u", "3"), listing("7"), answer("u", "6")}, unknown},
		{"an answer newer than a listing without it", []func(*Engine){listing("7"), answer("u", "8")}, "8"},
		{"an answer after an end that came first", []func(*Engine){went("u", "5"), answer("u", "4")}, unknown},
		{"another after an end that came first", []func(*Engine){went("u", "5"), answer("v", "4")}, "4"},
		{"without its labels after that", []func(*Engine){went("u", "5"), answer("u", "5")}, "5"},
		{"read before an end that came first", []func(*Engine){went("u", "5"), read("u", "4")}, unknown},
		{"an earlier end after a later one", []func(*Engine){went("v", "7"), went("u", "5"), answer("v", "6")}, unknown},
		{"not listed by name", []func(*Engine){answer("u", "3"), named("7"), answer("u", "6")}, unknown},
		{"never listed by name", []func(*Engine){named("7"), answer("u", "6")}, unknown},
		{"newer than the listing by name", []func(*Engine){named("7"), answer("u", "8")}, "8"},
		{"labelled after a listing, and read before", []func(*Engine){readBefore(listing("7"), "u", "8")}, "8"},
		{"read before a listing without it", []func(*Engine){readBefore(listing("7"), "u", "3")}, unknown},
		{"read after a listing without it", []func(*Engine){answer("u", "3"), listing("7"), read("u", "3")}, "3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := NewDelete(&inventory.Inventory{Owner: owner, Revision: "r", Entries: []inventory.Entry{{Key: key, UID: "u"}}}, Options{})
			for _, happens := range test.what {
				happens(e)
			}
			got := unknown
			if o := e.cache.objects[key]; o != nil {
				if got = o.version; o.absent {
					got = absent
				}
			}
			if got != test.want {
				t.Errorf("%s; want %s", got, test.want)
			}
		})
	}
}
