package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// checkOwners returns a failure if none of the owners of an object exists that is about to
// be created: the garbage collector would delete the object at once, and it would be created
// again and again. An owner that can't be read may exist.
func (c *Client) checkOwners(ctx context.Context, a address, object map[string]any) error {
	owners := (&unstructured.Unstructured{Object: object}).GetOwnerReferences()
	for _, owner := range owners {
		gvk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
		key := inventory.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: a.namespace, Name: owner.Name}
		live, err := c.Get(ctx, key, gvk.Version)
		if err != nil || live != nil && live.GetUID() == owner.UID {
			return nil
		}
	}
	if len(owners) == 0 {
		return nil
	}
	return &engine.Failure{
		Reason: engine.ReasonOwnerMissing, Terminal: true,
		Message: fmt.Sprintf("its owner %s %s with UID %s doesn't exist, so that the garbage collector deletes it: correct metadata.ownerReferences",
			owners[0].Kind, owners[0].Name, owners[0].UID),
	}
}
