package install

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/pequod-io/pequod/applier/cluster"
)

// The verbs on service accounts in the manifests, and those of an applier that may only
// impersonate what "pequod rbac generate --constrained" grants.
const (
	blanketVerbs     = "  verbs:\n  - get\n  - impersonate\n"
	constrainedVerbs = "  verbs:\n  - get\n"
)

// constrain takes the right to impersonate every service account from the manifests, as
// config/applier/components/constrained does.
func constrain(text string) string {
	if strings.Count(text, blanketVerbs) != 1 {
		panic("config/applier grants the verb impersonate in other places than expected")
	}
	return strings.Replace(text, blanketVerbs, constrainedVerbs, 1)
}

// constrainedSince is the first version of Kubernetes in which constrained impersonation
// (KEP-5284) is on by default. In 1.35 it is behind a feature gate.
var constrainedSince = version.MustParseGeneric("1.36")

// canConstrain reports whether the API server has constrained impersonation, by its
// version, which is returned, too.
func canConstrain(ctx context.Context, c *cluster.Client) (bool, string, error) {
	text, err := c.REST().Get().AbsPath("/version").Do(ctx).Raw()
	var info struct{ GitVersion string }
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	var v *version.Version
	if err == nil {
		v, err = version.ParseGeneric(info.GitVersion)
	}
	if err != nil {
		return false, "", fmt.Errorf("reading the version of the API server: %w", err)
	}
	return v.AtLeast(constrainedSince), info.GitVersion, nil
}
