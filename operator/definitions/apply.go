package definitions

import (
	"context"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/crdgen"
)

// Apply applies a definition by server-side apply, with the fields that pequod crd generate
// prints, and returns the stored one. Fields of other field managers that the definition lacks are removed,
// except a conversion of others: otherwise a version or a rule that was once edited or adopted could stay.
func Apply(
	ctx context.Context, c client.Client, desired *apiextensionsv1.CustomResourceDefinition,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	data, err := json.Marshal(crdgen.Desired(desired))
	if err != nil {
		return nil, err
	}
	stored := &apiextensionsv1.CustomResourceDefinition{}
	stored.Name = desired.Name
	patch := client.RawPatch(types.ApplyPatchType, data)
	if err := c.Patch(ctx, stored, patch, client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		return nil, err
	}
	// Server-side apply leaves fields that only other field managers own.
	if Same(stored, desired) {
		return stored, nil
	}
	stored.Spec = *completed(stored, desired)
	err = c.Update(ctx, stored, client.FieldOwner(fieldManager))
	return stored, err
}
