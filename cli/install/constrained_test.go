package install

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/applier/cluster"
)

func TestCanConstrain(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.35.4": false, "v1.36.0": true, "v1.36.3-gke.1018000": true, "v1.37.2+k3s1": true, "v1.34.0-eks-b707fbb": false,
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"major": "1", "gitVersion": %q}`, version)
		}))
		defer api.Close()
		c, err := cluster.New(&rest.Config{Host: api.URL})
		if err != nil {
			t.Fatal(err)
		}
		if got, have, err := canConstrain(t.Context(), c); got != want || have != version || err != nil {
			t.Errorf("%s: %t, %q, %v; want %t", version, got, have, err, want)
		}
	}
}

// TestConstrain holds that --constrained installs what kustomize makes with the components.
func TestConstrain(t *testing.T) {
	for name, base := range map[string]string{modeGitOps: "applier", modeOperator: "default"} {
		m, err := variant{mode: modeOf(name), constrained: true}.manifests(func(obj *unstructured.Unstructured) bool { return obj.GetName() != "pequod-webhook" })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kustomized(t, base, base+"/components/constrained"), named(m)); diff != "" {
			t.Errorf("%s: objects (-kustomize +install):\n%s", name, diff)
		}
	}
}
