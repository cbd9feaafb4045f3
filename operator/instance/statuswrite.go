package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/resourceversion"
)

// statusOf reads the status of an instance, with the given fields of the module's #Status.
// Fields of other types than those of every generated kind are an error.
func statusOf(instance *unstructured.Unstructured, own []string) (*status, error) {
	raw, _ := instance.Object["status"].(map[string]any)
	s := &status{}
	if raw == nil {
		return s, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, s); err != nil {
		return nil, err
	}
	s.Own = ownFields(own, s.Outputs, raw)
	return s, nil
}

// storedStatus returns the status of an instance as it is in the cluster, as far as this
// process knows: as the informer shows it, or as it was written since.
func (m *memory) storedStatus(instance *unstructured.Unstructured, own []string, now time.Time) (*status, error) {
	if m.status != nil && resourceversion.Older(instance.GetResourceVersion(), m.statusVersion) && now.Sub(m.statusAt) < trustWrites {
		return m.status, nil
	}
	m.status = nil
	return statusOf(instance, own)
}

// writeStatus writes the status of the instance if it differs from the stored one. Fields of the
// module's #Status without an output aren't touched: other controllers may write them.
func (t *task) writeStatus(ctx context.Context, next *status) error {
	if equality.Semantic.DeepEqual(t.stored, next) {
		return nil
	}
	patch, err := statusPatch(t.stored, next)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{
		// An instance of the same name with another UID has a status of its own.
		"metadata": map[string]any{"uid": t.instance.GetUID()},
		"status":   json.RawMessage(patch),
	})
	if err != nil {
		return err
	}
	stored, err := t.metadata.Resource(t.resource).Namespace(t.instance.GetNamespace()).Patch(ctx, t.instance.GetName(), types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: v1alpha1.ManagerProgram}, "status")
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	t.memory.status, t.memory.statusVersion, t.memory.statusAt = next, stored.ResourceVersion, t.now()
	return nil
}

// statusPatch returns the JSON merge patch that leads from one status to another.
func statusPatch(from, to *status) ([]byte, error) {
	old, err := from.encode()
	if err != nil {
		return nil, err
	}
	wanted, err := to.encode()
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(old, wanted)
}

// encode returns the status as JSON, with the fields of the module's #Status.
func (s *status) encode() ([]byte, error) {
	raw, err := json.Marshal(s)
	if err != nil || len(s.Own) == 0 {
		return raw, err
	}
	all := map[string]any{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, s.Own)
	return json.Marshal(all)
}
