package transform

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/definitions"
)

// migrate has all objects stored in a version of desired, if it drops one in which they may be
// stored. Everything that it has done can be seen in the CRD, so that a restarted process
// continues.
func (s *session) migrate(ctx context.Context, live, desired *apiextensionsv1.CustomResourceDefinition) (*blocked, error) {
	if len(definitions.Dropped(live, desired)) == 0 {
		return nil, nil
	}
	between := definitions.Transitional(live, desired)
	if !definitions.Same(live, between) {
		stored, err := definitions.Apply(ctx, s.client, between)
		if err != nil {
			return nil, err
		}
		live = stored
	}
	// Other API servers learn of the new version some time later, and store objects in the
	// old one until then.
	if settled := definitions.AppliedAt(live).Add(s.Settle).Sub(s.now); settled > 0 {
		return waiting(reasonMigrating, "objects will be stored in the version of the new CustomResourceDefinition "+desired.Name, settled), nil
	}
	if b := s.wait(live); b != nil {
		return b, nil
	}
	// The cache lacks fields of the CRD that the precondition of the last write needs.
	fresh := &apiextensionsv1.CustomResourceDefinition{}
	if err := s.api.Get(ctx, client.ObjectKeyFromObject(live), fresh); err != nil {
		return nil, err
	}
	if err := definitions.Migrate(ctx, s.api, s.client, fresh); apierrors.IsConflict(err) || ctx.Err() != nil {
		return nil, err
	} else if err != nil {
		return &blocked{condition: v1alpha1.ConditionCRDGenerated, reason: reasonMigration, message: err.Error(), after: time.Minute}, nil
	}
	return nil, nil
}
