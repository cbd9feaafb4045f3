package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// apiReady returns an error until all start-up hooks of the API server have run.
func apiReady(ctx context.Context, client kubernetes.Interface) error {
	return client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// usable returns an error until a new Pod can be admitted, scheduled and run: the
// service account exists and the nodes are ready.
func usable(ctx context.Context, client kubernetes.Interface, nodes int) error {
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := 0
	for _, node := range list.Items {
		if nodeReady(node) && len(node.Spec.Taints) == 0 {
			ready++
		}
	}
	if ready < nodes {
		return fmt.Errorf("%d of %d nodes ready", ready, nodes)
	}
	return nil
}

// nodeReady reports whether a node has the condition Ready.
func nodeReady(node corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
