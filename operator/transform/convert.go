package transform

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/definitions"
)

// desired returns the CRD of the platform as it should be, or a block while nothing is known of
// the webhook that has to convert its instances. Without it, the API server would read
// instances of one version as those of another.
func (s *session) desired(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, *blocked, error) {
	crd := s.p.loaded.CRD.DeepCopy()
	metav1.SetMetaDataLabel(&crd.ObjectMeta, v1alpha1.LabelTransformNamespace, s.t.Namespace)
	if !s.p.loaded.Converts || s.Conversion == nil {
		return crd, nil, nil
	}
	conversion, err := s.Conversion(ctx)
	if err != nil {
		return nil, nil, err
	}
	if conversion == nil {
		return nil, waiting(reasonNoWebhook, "the module converts between versions, and the webhook for it is not configured yet: see ValidatingWebhookConfiguration pequod-manager-webhook", 0), nil
	}
	crd.Spec.Conversion = conversion
	return crd, nil, nil
}

// convertBy makes the webhook convert with the module of a CRD that is about to be applied.
func (s *session) convertBy(crd *apiextensionsv1.CustomResourceDefinition) {
	if crd.Spec.Conversion != nil && s.Converting != nil {
		s.Converting.Set(&catalog.Entry{
			Transform: s.key, UID: s.t.UID, Digest: s.p.fetched.Digest, Sources: s.p.fetched.Sources, Names: s.p.loaded.Names,
		})
	}
}

// endConversion leaves behind a CRD that doesn't need the manager.
func (s *session) endConversion(ctx context.Context) error {
	if s.t.Status.GeneratedCRD == "" {
		return nil
	}
	live, err := s.definition(ctx, s.t.Status.GeneratedCRD)
	if err != nil || live == nil || !definitions.Applied(live, s.t) {
		return err
	}
	return client.IgnoreNotFound(definitions.EndConversion(ctx, s.client, live))
}
