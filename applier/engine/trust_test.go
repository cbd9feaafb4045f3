package engine

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/inventory"
)

// What expressions read is learned from watches only for a while after an answer to
// the graph's account. No version that a watch reports is lost meanwhile.
func TestReadTrust(t *testing.T) {
	b := newEnv(t, nodes("a", "b<a"), nil, Options{ReadTrust: time.Minute})
	b.nodes.byID["a"].referenced = true
	version := func() string { return b.cache.objects[keyA].version }
	seen := func(version int) { b.Observe(configMap(t, self, "a", "u-a", version, "1")) }
	b.survey(configMap(t, self, "a", "u-a", 1, "1"))
	b.step()
	seen(2)
	if version() != "2" {
		t.Errorf("version %s; want 2: the account has just read it", version())
	}
	b.now = b.now.Add(time.Minute)
	b.At(b.now)
	b.vouch(inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "b"}) // says nothing about a
	seen(4)
	seen(3)
	if version() != "2" {
		t.Errorf("version %s; want 2 until it is read as the account", version())
	}
	b.expect("Read a")
	seen(5) // overtakes the answer
	b.answer(Read, Outcome{Object: configMap(t, self, "a", "u-a", 4, "1")})
	if version() != "4" {
		t.Errorf("version %s; want that of the answer", version())
	}
	b.expect("Read a") // for the fifth
	b.answer(Read, Outcome{Object: configMap(t, self, "a", "u-a", 5, "1")})
	b.expect("")
	seen(6)
	if version() != "6" {
		t.Errorf("version %s; want 6: the account has just read it", version())
	}
	b.now = b.now.Add(time.Minute)
	b.step()
	seen(7)
	b.expect("Read a")
	b.answer(Read, Outcome{Err: &Failure{Reason: ReasonForbidden, Message: "may not get", Terminal: true}})
	b.expect("")
	if b.live("a") != nil {
		t.Error("expressions still read what the account may not")
	}
	b.wantShow("a Failed Forbidden: may not get", "b Blocked: waits for a, which failed")
}

// What doesn't belong to the graph is learned from watches only after an answer about
// the same object, also if no expression reads it.
func TestReadTrustOfForeignObjects(t *testing.T) {
	b := newEnv(t, nodes("a", "b"), nil, Options{ReadTrust: time.Minute})
	foreign := func(version int) *unstructured.Unstructured {
		return configMap(t, inventory.Owner{}, "a", "u-a", version, "1")
	}
	version := func() string { return b.cache.objects[keyA].version }
	b.survey(foreign(1), configMap(t, self, "b", "u-b", 1, "1"))
	b.step()
	b.Observe(foreign(2))
	if version() != "2" {
		t.Errorf("version %s; want 2: the account has just read it", version())
	}
	b.now = b.now.Add(time.Minute)
	b.At(b.now)
	b.vouch(inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "b"})
	b.Observe(foreign(3))
	if version() != "2" {
		t.Errorf("version %s; want 2: the account has read another object", version())
	}
	b.ObserveGone(foreign(4))
	if b.cache.objects[keyA] != nil {
		t.Error("the deletion of an object is learned before the account has read it")
	}
	b.expect("Read a")
}
