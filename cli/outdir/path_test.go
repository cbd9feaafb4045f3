package outdir

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPath(t *testing.T) {
	long := strings.Repeat("n", 253)
	for _, test := range []struct{ group, kind, namespace, name, want string }{
		{"apps", "Deployment", "default", "web", "default/deployment.apps-web.yaml"},
		{"", "Service", "default", "web", "default/service-web.yaml"},
		{"", "Namespace", "", "shop", "_cluster/namespace-shop.yaml"},
		{"platform.pequod.io", "ResourceGraph", "a", "web-1a2b3c", "a/resourcegraph.platform.pequod.io-web-1a2b3c.yaml"},
		{"cert-manager.io", "Certificate", "a", "web-tls", "a/certificate.cert-manager.io-web-tls.yaml"},
		{"x.my-org.io", "Thing", "a", "b", "a/thing.x.my%2dorg.io-b.yaml"},
		{"apps", "Deployment", "a", "web.v1", "a/deployment.apps-web.v1.yaml"},
		{"apps", "Deployment", "a", "web.v1-x", "a/deployment.apps-web%2ev1-x.yaml"},
		{"rbac.authorization.k8s.io", "ClusterRole", "", "system:Web", "_cluster/clusterrole.rbac.authorization.k8s.io-system%3a%57eb.yaml"},
		{"", "Service", "_cluster", "web", "%5fcluster/service-web.yaml"},
		{"", "Service", "..", "../../etc/passwd", "%2e%2e/service-..%2f..%2fetc%2fpasswd.yaml"},
		{"", "Service", "nul", "nul", "%6eul/service-nul.yaml"},
		{"x.io", "Com1", "a", "b", "a/%63om1.x.io-b.yaml"},
		{"", "Comet", "com10", "b", "com10/comet-b.yaml"},
		{"", "S", "a", "\x00\xff%é", "a/s-%00%ff%25%c3%a9.yaml"},
		{"", "Service", "a", long, "a/service-" + strings.Repeat("n", 176) + "%h5f861a6918bb07dd62b2b1b164f16814319c76e5429a1e00d0fd3d4cc3ddd205.yaml"},
	} {
		got := Path(test.group, test.kind, test.namespace, test.name)
		if got != test.want {
			t.Errorf("Path(%q, %q, %q, %q)\n got %s\nwant %s", test.group, test.kind, test.namespace, test.name, got, test.want)
		}
		if !valid(got) {
			t.Errorf("%s isn't valid", got)
		}
	}
}

// Different objects must have different paths, even if they differ only in where one
// part of the name ends and the next begins.
func TestPathsDiffer(t *testing.T) {
	parts := []string{"", "a", "a-b", "a.b", "a-b.c", "a.b-c", "b.c", "b.c-d", "b-c.d", "c-d", "d", "%", "%2d", "a%2db", "A", "%41", "_cluster",
		"con", "Con", "aux.a", "_", ".", "..", "/", "a/b", strings.Repeat("x", 240), strings.Repeat("x", 300), strings.Repeat("x", 300) + "y"}
	seen := map[string][4]string{}
	for _, group := range parts {
		for _, kind := range parts[1:] { // Add refuses an object without a kind
			for _, namespace := range []string{"", "_cluster", "a", "A", "con", ".."} {
				for _, name := range parts {
					path := Path(group, kind, namespace, name)
					object := [4]string{group, strings.ToLower(kind), namespace, name}
					if other, twice := seen[path]; twice && other != object {
						t.Fatalf("%q and %q are both written to %s", other, object, path)
					}
					seen[path] = object
					if !valid(path) {
						t.Fatalf("%q: %s isn't valid", object, path)
					}
				}
			}
		}
	}
}

func FuzzPath(f *testing.F) {
	f.Add("apps", "deployment", "default", "web", "a.b", "x", "", "y-z")
	f.Add("a", "k", "n", "b.c-d", "a-b.c", "k", "n", "d")
	f.Fuzz(func(t *testing.T, g1, k1, ns1, n1, g2, k2, ns2, n2 string) {
		if k1 == "" || k2 == "" {
			t.Skip("Add refuses an object without a kind")
		}
		one, two := Path(g1, k1, ns1, n1), Path(g2, k2, ns2, n2)
		same := g1 == g2 && strings.EqualFold(k1, k2) && ns1 == ns2 && n1 == n2
		if (one == two) != same {
			t.Errorf("%q %q %q %q and %q %q %q %q: %s and %s", g1, k1, ns1, n1, g2, k2, ns2, n2, one, two)
		}
		if !valid(one) || !utf8.ValidString(one) {
			t.Errorf("%q isn't valid", one)
		}
	})
}

func TestValidRejects(t *testing.T) {
	for _, path := range []string{
		"", ".", "/", "a", "a.yaml", "/etc/passwd.yaml", "../a.yaml", "a/../b.yaml", "a/b/c/d.yaml", "./a.yaml", "a/.yaml",
		"a//b.yaml", `a\b.yaml`, `a/..\b.yaml`, "a/b.json", "a/b.yml", "a/b", "C:/b.yaml", "a/b:c.yaml", "a/b.yaml ", " a/b.yaml",
		".git/b.yaml", "a/.b.yaml", "A/b.yaml", "a/é.yaml", "a/b\x00.yaml", "a/" + strings.Repeat("b", 256) + ".yaml",
	} {
		if valid(path) {
			t.Errorf("%q is accepted as a path that pequod writes", path)
		}
	}
}
