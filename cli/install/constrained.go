package install

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/pequod-io/pequod/applier/cluster"
)

// The ends of rules in the manifests with the blanket right to impersonate service accounts: that to
// impersonate them, and that to let oneself impersonate them. A manager gets the constrained right instead.
const (
	blanketVerbs    = "  - impersonate\n"
	blanketGrant    = "- apiGroups:\n  - rbac.authorization.k8s.io\n  resourceNames:\n  - pequod-manager-transforms\n  resources:\n  - roles\n  verbs:\n  - escalate\n"
	constrainedRule = "- apiGroups:\n  - authentication.k8s.io\n  resources:\n  - serviceaccounts\n  verbs:\n  - impersonate:serviceaccount\n"
)

// constrain takes the blanket right to impersonate service accounts from the manifests, as the
// components named constrained of config/applier and config/default do. An applier gets the right
// to act as an account from "pequod rbac generate --constrained". A manager may act as
// the accounts of its namespace, with the verbs and on the resources of [config.ConstrainedManager].
func (m mode) constrain(text string) string {
	places, instead := []string{blanketVerbs}, ""
	if m.operator {
		places, instead = []string{blanketVerbs, blanketGrant}, constrainedRule
	}
	for _, place := range places {
		if strings.Count(text, place) != 1 {
			panic("the manifests grant the right to impersonate in other places than expected")
		}
		text = strings.ReplaceAll(text, place, instead)
	}
	return text
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
