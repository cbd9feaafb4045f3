package install

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/operator/definitions/converting"
)

// endConversions makes API servers convert the instances of generated kinds by themselves:
// without the manager, they could neither read nor write them in other versions than the stored
// one.
func (r *remover) endConversions(ctx context.Context) error {
	if !r.mode.operator {
		return nil
	}
	all, err := r.list(ctx, cluster.Selection{
		GVK: apiextensionsv1.SchemeGroupVersion.WithKind(kindCRD), Labels: v1alpha1.LabelManaged + "=true",
	})
	if err != nil {
		return err
	}
	for _, obj := range all {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, crd); err != nil {
			return err
		}
		if !converting.ByManager(crd.Spec.Conversion) {
			continue
		}
		if err := r.endConversion(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// endConversion ends the conversion of one definition.
func (r *remover) endConversion(ctx context.Context, crd *unstructured.Unstructured) error {
	if r.dryRun != "client" {
		options := metav1.PatchOptions{FieldManager: "pequod"}
		if r.dryRun == "server" {
			options.DryRun = []string{metav1.DryRunAll}
		}
		patch := []byte(`{"spec": {"conversion": {"strategy": "None", "webhook": null}}}`)
		err := r.do(ctx, crd, func(resource dynamic.ResourceInterface) error {
			_, err := resource.Patch(ctx, crd.GetName(), types.MergePatchType, patch, options)
			return err
		})
		if err != nil {
			return err
		}
	}
	return r.print(crd, "patched")
}
