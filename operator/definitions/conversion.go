package definitions

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/operator/definitions/converting"
)

// EndConversion makes API servers convert the objects of a definition by themselves, by
// changing their apiVersion, if the manager does it until now.
func EndConversion(ctx context.Context, c client.Client, live *apiextensionsv1.CustomResourceDefinition) error {
	if !converting.ByManager(live.Spec.Conversion) {
		return nil
	}
	next := live.DeepCopy()
	next.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	return c.Patch(ctx, next, client.MergeFrom(live), client.FieldOwner(fieldManager))
}
