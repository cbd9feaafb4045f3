package reaction

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/actions/identity"
)

// autoscalers is the resource of HorizontalPodAutoscalers.
var autoscalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}

// unscaled returns an error if an autoscaler sets the replicas of an object. The API server doesn't
// record the autoscaler as their manager, so applying them would not conflict. An account that may
// not list autoscalers is taken for one of a namespace that has none.
func unscaled(ctx context.Context, client dynamic.Interface, namespace, apiVersion, kind, name string) error {
	list, err := client.Resource(autoscalers).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return fmt.Errorf("HorizontalPodAutoscalers: %s", identity.Reason(err))
	}
	group := schema.FromAPIVersionAndKind(apiVersion, kind).Group
	for _, a := range list.Items {
		of, _, _ := unstructured.NestedStringMap(a.Object, "spec", "scaleTargetRef")
		if schema.FromAPIVersionAndKind(of["apiVersion"], "").Group == group && of["kind"] == kind && of["name"] == name {
			return fmt.Errorf("%s %s: HorizontalPodAutoscaler %s sets its replicas; change its minReplicas instead", kind, name, a.GetName())
		}
	}
	return nil
}
