package moduleinit

import (
	"strings"
	"testing"
)

// TestNodeIDs checks the ids of a sequence of objects: each is readable in CEL, short
// enough for a graph, and unique.
func TestNodeIDs(t *testing.T) {
	m := &Manifests{ids: map[string]bool{}}
	long := strings.Repeat("a", 200)
	for _, c := range []struct {
		object identity
		want   string
	}{
		{identity{kind: "Deployment", name: "shop-web"}, "deploymentShopWeb"},
		{identity{kind: "Deployment", name: "shop.web"}, "deploymentShopWeb2"},
		{identity{kind: "Deployment", name: "shop-web", namespace: "other"}, "deploymentShopWebOther"},
		{identity{kind: "HTTPRoute", name: "a"}, "httpRouteA"},
		{identity{kind: "API", name: "a"}, "apiA"},
		{identity{kind: "ClusterRole", name: "system:x_y"}, "clusterRoleSystemXY"},
		{identity{kind: "Secret", name: long}, ("secretA" + long)[:maxNodeID]},
		{identity{kind: "Secret", name: long, namespace: "b"}, ("secretA" + long)[:maxNodeID] + "2"},
	} {
		if got := m.newID(c.object); got != c.want {
			t.Errorf("%s: %s, want %s", c.object, got, c.want)
		}
	}
}
