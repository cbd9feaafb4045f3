package fetch

import (
	"context"
	"fmt"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/transform"
)

// Organization selects policies that check the instances of all platforms, after those of their
// Transforms. They become part of the sources of each platform, so a policy that can't be opened
// leaves platforms with the version that they had, and one that has changed renders all
// instances again.
type Organization struct {
	// Policies are references in the form of [modules.ParseRef]. A directory is one of the
	// process.
	Policies []string
	// Namespace is the namespace of ConfigMaps and of PullSecret.
	Namespace string
	// PullSecret is the name of a Secret with credentials for the policies, or "".
	PullSecret string
}

// refs returns the references to the policies. The error is about one that can't be used in a
// cluster.
func (o Organization) refs() ([]v1alpha1.CueRef, error) {
	var all []v1alpha1.CueRef
	for _, text := range o.Policies {
		ref, err := modules.ParseRef(text)
		if err != nil {
			return nil, &Error{InvalidReference, err.Error()}
		}
		if ref.Type != v1alpha1.CueRefPath {
			if err := Check(ref); err != nil {
				return nil, err
			}
		}
		if o.PullSecret != "" && (ref.Type == v1alpha1.CueRefOCI || ref.Type == v1alpha1.CueRefGit) {
			ref.PullSecretRef = &o.PullSecret
		}
		all = append(all, ref)
	}
	return all, nil
}

// Check returns an error about a reference that can't be used in a cluster.
func (o Organization) Check() error {
	_, err := o.refs()
	return err
}

// addOrganization opens the policies of the organization, and adds them to sources. The caller
// closes the cache when it has encoded the sources. It reports whether a policy can change.
func (f *Fetcher) addOrganization(ctx context.Context, sources *transform.Sources, c *cache.Cache) (moving bool, err error) {
	refs, err := f.Organization.refs()
	if err != nil {
		return false, err
	}
	s := &session{Fetcher: f, namespace: f.Organization.Namespace, directories: true, cache: c}
	for i, ref := range refs {
		opened, err := transform.Open(ctx, &modules.Opener{Of: s.options}, "", v1alpha1.TransformSpec{CueRef: ref}, func(string) modules.Place {
			return modules.Place{Namespace: s.namespace}
		})
		if err != nil {
			return false, fmt.Errorf("policy %s of the organization: %w", f.Organization.Policies[i], err)
		}
		policy := opened.Module
		policy.Path = "--policy " + f.Organization.Policies[i]
		sources.Policies = append(sources.Policies, policy)
		moving = moving || ref.Type == v1alpha1.CueRefPath || canMove(ref)
	}
	return moving, nil
}
