package graph

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestClusterScopedAgainstTypedClients compares the lists with the typed clients of
// client-go, whose getters take a namespace argument if the kind is namespaced.
func TestClusterScopedAgainstTypedClients(t *testing.T) {
	seen := 0
	clients := reflect.TypeFor[kubernetes.Interface]()
	for i := range clients.NumMethod() {
		group := clients.Method(i).Type
		if group.NumOut() != 1 || group.Out(0).Kind() != reflect.Interface {
			continue
		}
		for j := range group.Out(0).NumMethod() {
			getter := group.Out(0).Method(j).Type
			if getter.NumOut() != 1 || getter.Out(0).Kind() != reflect.Interface {
				continue
			}
			create, ok := getter.Out(0).MethodByName("Create")
			if !ok {
				continue
			}
			object := reflect.New(create.Type.In(1).Elem()).Interface().(runtime.Object)
			kinds, _, err := scheme.Scheme.ObjectKinds(object)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			gk := kinds[0].GroupKind()
			cluster, known := ClusterScoped(gk)
			if want := getter.NumIn() == 0; !known || cluster != want {
				t.Errorf("%s: cluster %t, known %t; want cluster %t", gk, cluster, known, want)
			}
		}
	}
	if seen < 80 {
		t.Errorf("only %d kinds were compared", seen)
	}
}

func TestClusterScoped(t *testing.T) {
	for _, test := range []struct {
		group, kind    string
		cluster, known bool
	}{
		{"apiextensions.k8s.io", "CustomResourceDefinition", true, true},
		{"apiregistration.k8s.io", "APIService", true, true},
		{"policy", "PodSecurityPolicy", true, true},
		{"policy", "Eviction", false, true},
		{"cert-manager.io", "ClusterIssuer", false, false},
		{"example.com", "Namespace", false, false},
		{"apps", "Service", false, false},
	} {
		cluster, known := ClusterScoped(schema.GroupKind{Group: test.group, Kind: test.kind})
		if cluster != test.cluster || known != test.known {
			t.Errorf("%s.%s: %t, %t", test.kind, test.group, cluster, known)
		}
	}
}

func TestOrphanedByDefault(t *testing.T) {
	for _, gk := range []schema.GroupKind{
		{Kind: "PersistentVolumeClaim"}, {Kind: "Namespace"}, {Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	} {
		if !OrphanedByDefault(gk) {
			t.Errorf("%s is not orphaned", gk)
		}
	}
	for _, gk := range []schema.GroupKind{{Kind: "Secret"}, {Group: "example.com", Kind: "PersistentVolumeClaim"}} {
		if OrphanedByDefault(gk) {
			t.Errorf("%s is orphaned", gk)
		}
	}
}
