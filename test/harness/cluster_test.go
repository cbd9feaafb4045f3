package harness_test

import (
	"context"
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/harness"
)

// cluster adds to a Cluster what these tests ask again and again.
type cluster struct{ *harness.Cluster }

func start(t *testing.T) cluster {
	t.Helper()
	return cluster{harness.Start(t)}
}

// pods are the Pods of the test's namespace that a selector chooses and that
// aren't being deleted.
func (c cluster) pods(t *testing.T, selector string) []corev1.Pod {
	t.Helper()
	list, err := c.Client.CoreV1().Pods(c.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// available returns an error unless the newest version of a Deployment has the
// given number of available replicas.
func (c cluster) available(ctx context.Context, name string, replicas int32) error {
	deployment, err := c.Client.AppsV1().Deployments(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	status := deployment.Status
	if status.ObservedGeneration == deployment.Generation && status.UpdatedReplicas == replicas && status.AvailableReplicas == replicas {
		return nil
	}
	return fmt.Errorf("%s: status: %+v", name, status)
}

// running returns an error unless a Pod is Ready.
func (c cluster) running(ctx context.Context, name string) error {
	pod, err := c.Client.CoreV1().Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("%s: status: %+v", name, pod.Status)
}

// whoAmI returns an error unless the API server authenticates the client.
func whoAmI(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	return err
}

// gone returns an error while a Pod exists.
func (c cluster) gone(ctx context.Context, name string) error {
	_, err := c.Client.CoreV1().Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: still there (error: %v)", name, err)
}
