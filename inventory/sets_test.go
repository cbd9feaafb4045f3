package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var (
	web     = Key{"apps", "Deployment", "default", "web"}
	config  = Key{"", "ConfigMap", "default", "web"}
	space   = Key{"", "Namespace", "", "web"}
	ingress = Key{"networking.k8s.io", "Ingress", "default", "web"}
	oldGate = Key{"extensions", "Ingress", "default", "web"}
)

// intent is an entry that was never applied.
func intent(k Key, node string, wave int) Entry {
	return Entry{Key: k, Version: "v1", Node: node, Wave: wave}
}

// made is one that was.
func made(k Key, node string, wave int, uid types.UID) Entry {
	e := intent(k, node, wave)
	e.UID, e.Desired, e.Live = uid, "d-"+string(uid), "l-"+string(uid)
	return e
}

func TestKeyString(t *testing.T) {
	for want, k := range map[string]Key{
		"Deployment.apps default/web": web,
		"ConfigMap default/web":       config,
		"Namespace web":               space,
	} {
		if got := k.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestUnion(t *testing.T) {
	for _, test := range []struct {
		name               string
		old, desired, want []Entry
	}{
		{"first run", nil,
			[]Entry{intent(web, "web", 1), intent(config, "config", 0)},
			[]Entry{intent(config, "config", 0), intent(web, "web", 1)}},
		{"empty graph", []Entry{made(web, "web", 0, "1")}, nil, []Entry{made(web, "web", 0, "1")}},
		{"node renamed and moved between waves",
			[]Entry{made(web, "web", 0, "1")},
			[]Entry{intent(web, "frontend", 3)},
			[]Entry{made(web, "frontend", 3, "1")}},
		{"another API version and policy",
			[]Entry{made(web, "web", 0, "1")},
			[]Entry{{Key: web, Version: "v2", Node: "web", Orphan: true, Create: true}},
			[]Entry{{Key: web, Version: "v2", Node: "web", Orphan: true, Create: true, UID: "1", Desired: "d-1", Live: "l-1"}}},
		{"what leaves stays until it is pruned",
			[]Entry{made(web, "web", 1, "1"), made(config, "config", 0, "2")},
			[]Entry{intent(config, "config", 0)},
			[]Entry{made(config, "config", 0, "2"), made(web, "web", 1, "1")}},
		{"applied again",
			[]Entry{made(web, "web", 0, "1")},
			[]Entry{{Key: web, Version: "v1", Node: "web", UID: "1", Desired: "new", Live: "newer"}},
			[]Entry{{Key: web, Version: "v1", Node: "web", UID: "1", Desired: "new", Live: "newer"}}},
		{"another object of that name: the digests were of the old one",
			[]Entry{made(web, "web", 0, "1")},
			[]Entry{{Key: web, Version: "v1", Node: "web", UID: "2"}},
			[]Entry{{Key: web, Version: "v1", Node: "web", UID: "2"}}},
		{"another group is another entry",
			[]Entry{made(oldGate, "gate", 0, "1")},
			[]Entry{intent(ingress, "gate", 0)},
			[]Entry{made(oldGate, "gate", 0, "1"), intent(ingress, "gate", 0)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Union(test.old, test.desired)); diff != "" {
				t.Errorf("union (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLeaving(t *testing.T) {
	for _, test := range []struct {
		name             string
		entries, desired []Entry
		want             [][]Entry
	}{
		{"nothing", nil, []Entry{intent(web, "web", 0)}, nil},
		{"all that is desired stays",
			[]Entry{made(web, "web", 0, "1")}, []Entry{intent(web, "web", 0)}, nil},
		{"renamed, moved between waves, another version",
			[]Entry{made(web, "web", 0, "1")},
			[]Entry{{Key: web, Version: "v2", Node: "frontend", Wave: 3}}, nil},
		{"waves backwards, each sorted",
			[]Entry{made(space, "space", 0, "1"), made(config, "config", 1, "2"), made(web, "web", 2, "3"), made(ingress, "gate", 2, "4")},
			nil,
			[][]Entry{
				{made(web, "web", 2, "3"), made(ingress, "gate", 2, "4")},
				{made(config, "config", 1, "2")},
				{made(space, "space", 0, "1")},
			}},
		{"an intent that nobody knows the end of",
			[]Entry{intent(web, "web", 0)}, nil, [][]Entry{{intent(web, "web", 0)}}},
		{"another group, the same object",
			[]Entry{made(oldGate, "gate", 0, "1"), made(ingress, "gate", 0, "1")},
			[]Entry{intent(ingress, "gate", 0)}, nil},
		{"another group, and not yet known to be the same object",
			[]Entry{made(oldGate, "gate", 0, "1"), intent(ingress, "gate", 0)},
			[]Entry{intent(ingress, "gate", 0)}, nil},
		{"another group, another object",
			[]Entry{made(oldGate, "gate", 0, "1"), made(ingress, "gate", 0, "2")},
			[]Entry{intent(ingress, "gate", 0)}, [][]Entry{{made(oldGate, "gate", 0, "1")}}},
		{"intents have no UID in common",
			[]Entry{intent(web, "web", 0), intent(config, "config", 0)},
			[]Entry{intent(config, "config", 0)}, [][]Entry{{intent(web, "web", 0)}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Leaving(test.entries, test.desired)); diff != "" {
				t.Errorf("leaving (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSurvivors(t *testing.T) {
	for _, test := range []struct {
		name             string
		entries, desired []Entry
		gone             []Key
		want             []Entry
	}{
		{"all pruned",
			[]Entry{made(web, "web", 0, "1"), made(config, "config", 0, "2")},
			[]Entry{intent(web, "web", 0)}, []Key{config},
			[]Entry{made(web, "web", 0, "1")}},
		{"a delete failed",
			[]Entry{made(web, "web", 0, "1"), made(config, "config", 0, "2"), made(space, "space", 0, "3")},
			nil, []Key{web},
			[]Entry{made(config, "config", 0, "2"), made(space, "space", 0, "3")}},
		{"another group, the same object",
			[]Entry{made(oldGate, "gate", 0, "1"), made(ingress, "gate", 0, "1")},
			[]Entry{intent(ingress, "gate", 0)}, nil,
			[]Entry{made(ingress, "gate", 0, "1")}},
		{"another group, not yet known",
			[]Entry{made(oldGate, "gate", 0, "1"), intent(ingress, "gate", 0)},
			[]Entry{intent(ingress, "gate", 0)}, nil,
			[]Entry{made(oldGate, "gate", 0, "1"), intent(ingress, "gate", 0)}},
		{"desired and gone: to be made again",
			[]Entry{made(web, "web", 0, "1")}, []Entry{intent(web, "web", 0)}, []Key{web},
			[]Entry{intent(web, "web", 0)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Survivors(test.entries, test.desired, test.gone)); diff != "" {
				t.Errorf("survivors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaims(t *testing.T) {
	self, a, b := Owner{"default", "self"}, Owner{"default", "a"}, Owner{"default", "b"}
	claims := ClaimsOn(self, []*Inventory{
		{Owner: self, Entries: []Entry{made(web, "web", 0, "1")}},
		{Owner: a, Entries: []Entry{intent(config, "config", 0), made(ingress, "gate", 0, "5")}},
		{Owner: b, Entries: []Entry{
			made(config, "config", 0, "2"), made(space, "", 0, "9"),
			intent(Key{"example.com", "Box", "", "known"}, "box", 0), intent(Key{"example.com", "Box", "default", "assumed"}, "box2", 0),
		}},
	})
	for _, test := range []struct {
		name  string
		entry Entry
		want  Owner
	}{
		{"only this graph's", made(web, "web", 0, "1"), Owner{}},
		{"two list it", made(config, "config", 0, "2"), a},
		{"by UID", made(oldGate, "gate", 0, "5"), a},
		{"no UID is none in common", intent(space, "space", 0), Owner{}},
		{"recorded with an assumed namespace", intent(Key{"example.com", "Box", "default", "known"}, "box", 0), b},
		{"listed with an assumed namespace", intent(Key{"example.com", "Box", "", "assumed"}, "box", 0), b},
		{"in another namespace", intent(Key{"example.com", "Box", "other", "assumed"}, "box", 0), Owner{}},
		{"left the other graph too", made(space, "space", 0, "9"), Owner{}},
	} {
		got, listed := claims.Of(test.entry)
		if got != test.want || listed != (test.want != Owner{}) {
			t.Errorf("%s: %v, %t", test.name, got, listed)
		}
	}
}
