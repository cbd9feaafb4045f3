package engine

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/inventory"
)

const oneNode = `graph: {nodes: [{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "1"}}}]}`

func withPolicy(policy string) string {
	return strings.Replace(oneNode, "{id: a,", "{id: a, applyPolicy: {"+policy+"},", 1)
}

func (d decision) String() string {
	switch {
	case d.unchanged:
		return "unchanged"
	case d.wait != "":
		return "wait: " + d.wait
	case d.failure != nil:
		return fmt.Sprintf("%s (terminal %t)", d.failure.Reason, d.failure.Terminal)
	}
	text := "apply"
	if d.apply.UID == "" {
		text = "create"
	}
	for name, is := range map[string]bool{"adopt": d.apply.Adopt, "drift": d.apply.Drift} {
		if is {
			text += ", " + name
		}
	}
	if d.apply.Force {
		text += ", force"
	}
	if d.apply.HandOverReplicas {
		text += ", hand over"
	}
	return text
}

func TestDecide(t *testing.T) {
	unowned := inventory.Owner{}
	copied := configMap(t, self, "a", "u-a", 5, "1")
	unstructured.RemoveNestedField(copied.Object, "metadata", "managedFields")
	recopied := copied.DeepCopy()
	recopied.SetUID("u-copy")
	dependent := copied.DeepCopy()
	dependent.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "a", UID: "u-s"}})
	stripped := configMap(t, self, "a", "u-a", 5, "1")
	stripped.SetLabels(nil)
	deleting := live(t, self, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u-a, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [x/y, x/z]}}`)
	const adopt = `, adopt: {resources: [{apiVersion: v1, kind: ConfigMap, name: a}]}`
	const selector = `, adopt: {mode: LabelSelector, labelSelector: {matchLabels: {app: x}}}`
	labelled := configMap(t, unowned, "a", "u-x", 5, "1")
	labelled.SetLabels(map[string]string{"app": "x"})
	theirs := configMap(t, other, "a", "u-x", 5, "1")
	theirLabels := theirs.GetLabels()
	theirLabels["app"] = "x"
	theirs.SetLabels(theirLabels)
	for _, test := range []struct {
		name, policy, adopt string
		opts                Options
		fresh               bool // the inventory is empty
		seen                *unstructured.Unstructured
		want                string
	}{
		{"absent", "", "", Options{}, false, nil, "create"},
		{"absent, in mode Create", "mode: Create", "", Options{}, true, nil, "create"},
		{"deleting", "", "", Options{}, false, deleting, "wait: is being deleted, held by finalizer x/y, x/z"},
		{"deleting, in mode Create", "mode: Create", "", Options{}, false, deleting, "wait: is being deleted, held by finalizer x/y, x/z"},
		{"as applied", "", "", Options{}, false, configMap(t, self, "a", "u-a", 5, "1"), "unchanged"},
		{"not recorded", "", "", Options{}, true, configMap(t, self, "a", "u-a", 5, "1"), "apply"},
		{"recreated by a killed run", "", "", Options{}, false, configMap(t, self, "a", "u-new", 5, "1"), "apply"},
		{"another is wanted", "fieldManager: x", "", Options{}, false, configMap(t, self, "a", "u-a", 5, "1"), "apply"},
		{"drift", "", "", Options{}, false, configMap(t, self, "a", "u-a", 5, "2"), "apply, drift, force"},
		{"drift, reported", "", "", Options{Drift: ReportDrift}, false, configMap(t, self, "a", "u-a", 5, "2"), "unchanged"},
		{"labels removed", "", "", Options{}, false, stripped, "apply, drift, force"},
		{"labels removed, reported", "", "", Options{Drift: ReportDrift}, false, stripped, "unchanged"},
		{"labels removed, not recorded", "", "", Options{}, true, stripped, "AdoptionRequired (terminal true)"},
		{"forced by the node", "conflictPolicy: Force", "", Options{}, true, configMap(t, self, "a", "u-a", 5, "1"), "apply, force"},
		{"forced by the user", "", "", Options{ForceConflicts: true}, true, configMap(t, self, "a", "u-a", 5, "1"), "apply, force"},
		{"in mode Create, changed", "mode: Create", "", Options{}, false, configMap(t, self, "a", "u-a", 5, "2"), "unchanged"},
		{"in mode Create, unowned", "mode: Create", "", Options{}, true, configMap(t, unowned, "a", "u-x", 5, "2"), "unchanged"},
		{"in mode Create, another graph's", "mode: Create", "", Options{}, true, theirs, "unchanged"},
		{"unowned", "", "", Options{}, true, configMap(t, unowned, "a", "u-x", 5, "1"), "AdoptionRequired (terminal true)"},
		{"unowned, replacing the graph's", "", "", Options{}, false, configMap(t, unowned, "a", "u-x", 5, "1"), "AdoptionRequired (terminal true)"},
		{"a copy with the labels", "", "", Options{}, false, recopied, "AdoptionRequired (terminal true)"},
		{"restored with the labels", "", "", Options{}, true, copied, "apply, adopt"},
		{"a dependent with the labels", "", "", Options{}, true, dependent, "AdoptionRequired (terminal true)"},
		{"unowned, to be adopted", "mode: Adopt", "", Options{}, true, configMap(t, unowned, "a", "u-x", 5, "1"), "apply, adopt"},
		{"unowned, listed", "", adopt, Options{}, true, configMap(t, unowned, "a", "u-x", 5, "1"), "apply, adopt"},
		{"unowned, another listed", "", strings.Replace(adopt, "name: a", "name: b", 1), Options{}, true, configMap(t, unowned, "a", "u-x", 5, "1"), "AdoptionRequired (terminal true)"},
		{"unowned, selected", "", selector, Options{}, true, labelled, "apply, adopt"},
		{"unowned, not selected", "", selector, Options{}, true, configMap(t, unowned, "a", "u-x", 5, "1"), "AdoptionRequired (terminal true)"},
		{"another graph's", "", "", Options{ForceConflicts: true}, true, theirs, "OwnedElsewhere (terminal true)"},
		{"another graph's, handed over", "", "", Options{HandsOver: func(key inventory.Key, owner inventory.Owner) bool { return key.Name == "a" && owner == other }}, true, theirs, "wait: is being handed over by graph default/other"},
		{"another graph's, kept", "", "", Options{HandsOver: func(inventory.Key, inventory.Owner) bool { return false }}, true, theirs, "OwnedElsewhere (terminal true)"},
		{"another graph's, to be adopted", "mode: Adopt", "", Options{}, true, theirs, "OwnedElsewhere (terminal true)"},
		{"another graph's, selected", "", selector, Options{}, true, theirs, "OwnedElsewhere (terminal true)"},
		{"another graph's, listed", "", adopt, Options{}, true, theirs, "apply, adopt"},
		{"taken by another graph", "", "", Options{}, false, configMap(t, other, "a", "u-a", 5, "1"), "OwnedElsewhere (terminal true)"},
	} {
		spec := oneNode
		var stored *inventory.Inventory
		if !test.fresh {
			stored = newEnv(t, oneNode, nil, Options{}).complete()
		}
		if test.policy != "" {
			spec = withPolicy(test.policy)
		}
		b := newEnv(t, "{"+spec+test.adopt+"}", stored, test.opts)
		n, seen := b.nodes.byID["a"], absentObservation("", b.Engine.step.now)
		if test.seen != nil {
			seen = b.newObservation(n.key, test.seen)
		}
		b.resolveDesired(n)
		b.removals.claims = claims{value: &inventory.Claims{}, loadedAt: b.Engine.step.now}
		if got := b.decide(n, seen).String(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// ModeStatus attributes changes since the recorded intent to the run that recorded
// it.
func TestDecideDuringOtherRun(t *testing.T) {
	begun := func(recorded *inventory.Inventory, policy string) *inventory.Inventory {
		b := newEnv(t, "{"+withPolicy(policy)+"}", recorded, Options{})
		inv := b.Inventory()
		inv.Complete = false
		return inv
	}
	done := newEnv(t, oneNode, nil, Options{}).complete()
	const other = "fieldManager: pequod, timeout: 1m" // another revision of the same object
	changed := strings.Replace(withPolicy(other), `data: {a: "1"}`, `data: {a: "2"}`, 1)
	beganChange := newEnv(t, "{"+changed+"}", done, Options{}).Inventory()
	beganChange.Complete = false
	for _, test := range []struct {
		name, spec string
		stored     *inventory.Inventory
		readOnly   bool
		value      string
		want       string
		unrecorded bool
	}{
		{"made by the run", withPolicy(other), begun(nil, other), true, "1", "unchanged", true},
		{"made by a run of ours", withPolicy(other), begun(nil, other), false, "1", "apply", false},
		{"made by an unrecorded run", withPolicy(other), nil, true, "1", "apply", false},
		{"made by another revision", withPolicy(other), begun(nil, "mode: Apply"), true, "1", "apply", false},
		{"not yet changed by the run", changed, beganChange, true, "1", "apply", false},
		{"changed by the run", changed, beganChange, true, "2", "unchanged", true},
		{"changed by others, and recorded", oneNode, done, true, "2", "apply, drift, force", false},
	} {
		opts := Options{}
		if test.readOnly {
			opts.Mode = ModeStatus
		}
		b := newEnv(t, "{"+test.spec+"}", test.stored, opts)
		n := b.nodes.byID["a"]
		b.resolveDesired(n)
		d := b.decide(n, b.newObservation(n.key, configMap(t, self, "a", "u-a", 5, test.value)))
		if got := d.String(); got != test.want || d.unrecorded != test.unrecorded {
			t.Errorf("%s: %s, unrecorded %t; want %s, %t", test.name, got, d.unrecorded, test.want, test.unrecorded)
		}
	}
}

func TestDecideReplicas(t *testing.T) {
	const spec = `graph: {nodes: [{id: a, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {paused: true}}}]}`
	for manager, want := range map[string]string{"pequod": "apply, hand over", "hpa": "apply"} {
		b := newEnv(t, spec, nil, Options{})
		n := b.nodes.byID["a"]
		b.resolveDesired(n)
		seen := b.newObservation(n.key, live(t, self, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, uid: u-a, managedFields: [
			{manager: pequod, operation: Apply, fieldsV1: {"f:metadata": {"f:labels": {"f:pequod.io/graph": {}}}, "f:spec": {"f:paused": {}}}},
			{manager: `+manager+`, operation: Apply, fieldsV1: {"f:metadata": {"f:labels": {"f:pequod.io/graph": {}}}, "f:spec": {"f:replicas": {}}}}]}, spec: {replicas: 3}}`))
		if got := b.decide(n, seen).String(); got != want {
			t.Errorf("replicas of %s: %s, want %s", manager, got, want)
		}
	}
}

func TestDecideRemoval(t *testing.T) {
	claims := inventory.ClaimsOn(self, []*inventory.Inventory{{Owner: other, Entries: []inventory.Entry{
		{Key: inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "a"}, Node: "x"}}}})
	none := inventory.ClaimsOn(self, nil)
	copied := configMap(t, self, "a", "u-copy", 5, "1")
	unstructured.RemoveNestedField(copied.Object, "metadata", "managedFields")
	deleting := live(t, self, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u-a, deletionTimestamp: "2026-01-01T00:00:00Z"}}`)
	names := map[removalDecision]string{removeRead: "read", removeGone: "gone", removeForeign: "foreign", removeWait: "wait", removeDelete: "delete", removeRelease: "release", removeHandOver: "hand over"}
	for _, test := range []struct {
		name    string
		spec    string
		opts    Options
		orphan  bool
		claims  inventory.Claims
		seen    *unstructured.Unstructured
		unknown bool
		want    string
	}{
		{"unknown", "", Options{}, false, none, nil, true, "read"},
		{"absent", "", Options{}, false, none, nil, false, "gone"},
		{"the graph's", "", Options{}, false, none, configMap(t, self, "a", "u-a", 5, "1"), false, "delete"},
		{"the graph's, changed", "", Options{}, false, none, configMap(t, self, "a", "u-a", 6, "9"), false, "delete"},
		{"the graph's, recreated", "", Options{}, false, none, configMap(t, self, "a", "u-new", 5, "1"), false, "delete"},
		{"a copy with its name", "", Options{}, false, none, copied, false, "foreign"},
		{"unowned", "", Options{}, false, none, configMap(t, inventory.Owner{}, "a", "u-a", 5, "1"), false, "foreign"},
		{"another graph's", "", Options{}, false, none, configMap(t, other, "a", "u-a", 5, "1"), false, "foreign"},
		{"deleting", "", Options{}, false, none, deleting, false, "wait"},
		{"listed by another", "", Options{}, false, claims, configMap(t, self, "a", "u-a", 5, "1"), false, "hand over"},
		{"listed by another, to be orphaned", "", Options{}, true, claims, configMap(t, self, "a", "u-a", 5, "1"), false, "hand over"},
		{"to be orphaned", "", Options{}, true, none, configMap(t, self, "a", "u-a", 5, "1"), false, "release"},
		{"everything is to be orphaned", "", Options{Orphan: true}, false, none, configMap(t, self, "a", "u-a", 5, "1"), false, "release"},
		{"the graph waits for it now", `graph: {nodes: [{id: a, externalRef: {apiVersion: v1, kind: ConfigMap, name: a}}]}`,
			Options{}, false, none, configMap(t, self, "a", "u-a", 5, "1"), false, "release"},
		{"the graph mirrors it now", "{" + oneNode + ", adopt: {strategy: Mirror, resources: [{apiVersion: v1, kind: ConfigMap, name: a}]}}",
			Options{}, false, none, configMap(t, self, "a", "u-a", 5, "1"), false, "release"},
	} {
		stored := newEnv(t, oneNode, nil, Options{}).complete()
		spec := strings.ReplaceAll(oneNode, ": a", ": z")
		if test.spec != "" {
			spec = test.spec
		}
		b := newEnv(t, spec, stored, test.opts)
		key := inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "a"}
		b.removals.claims.value = &test.claims
		l := &removal{entry: b.ledger.entries[key]}
		l.entry.Orphan = test.orphan
		seen := absentObservation("", b.Engine.step.now)
		switch {
		case test.unknown:
			seen = nil
		case test.seen != nil:
			seen = b.newObservation(key, test.seen)
		}
		if got, to := b.decideRemoval(l, seen); names[got] != test.want || (to != nil) != (got == removeHandOver) {
			t.Errorf("%s: %s to %v, want %s", test.name, names[got], to, test.want)
		}
	}
}
