package reaction

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/monitor"
	"github.com/pequod-io/pequod/actions/probe"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// restart evicts Pods.
func (r *Reactor) restart(ctx context.Context, m *v1alpha1.Monitor, do *v1alpha1.RestartPodsReaction, on monitor.Occasion) (string, error) {
	pods, err := r.Pods.List(ctx, m)
	if err != nil {
		return "", err
	}
	evict := matching(pods, do.Which == "All", on)
	if len(evict) == 0 {
		return "no Pod was left to restart", nil
	}
	client, err := typedcorev1.NewForConfigAndClient(r.Accounts.As(m.Namespace, m.Spec.ServiceAccountName))
	if err != nil {
		return "", err
	}
	most := 1
	if do.MaxUnavailable != nil {
		most = int(*do.MaxUnavailable)
	}
	room := most - unavailable(pods, evict)
	var done []string
	for _, pod := range evict {
		if len(done) >= room {
			return "", fmt.Errorf("%sPod %s isn't evicted, because more than %d Pods would be unavailable", after(done), pod.Name, most)
		}
		err := client.Pods(m.Namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{
				GracePeriodSeconds: do.GracePeriodSeconds, Preconditions: &metav1.Preconditions{UID: &pod.UID},
			},
		})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone, or another one has its name
		case apierrors.IsTooManyRequests(err):
			return "", fmt.Errorf("%sPod %s: a disruption budget refuses the eviction: %w", after(done), pod.Name, err)
		case err != nil:
			return "", fmt.Errorf("%sPod %s: %s", after(done), pod.Name, identity.Reason(err))
		}
		done = append(done, pod.Name)
	}
	return "evicted " + strings.Join(done, ", "), nil
}

// after returns the beginning of an error about a Pod after others were evicted.
func after(done []string) string {
	if len(done) == 0 {
		return ""
	}
	return "evicted " + strings.Join(done, ", ") + "; "
}

// matching returns the Pods to evict: the one that a rule has fired for, or all that are older
// than the firing. Those that have replaced them are not evicted when the reaction is repeated.
func matching(pods []corev1.Pod, all bool, on monitor.Occasion) []corev1.Pod {
	var found []corev1.Pod
	for _, pod := range pods {
		if all && !pod.CreationTimestamp.After(on.At.Time) || !all && string(pod.UID) == on.UID {
			found = append(found, pod)
		}
	}
	return found
}

// unavailable returns the number of Pods that aren't ready, without those to evict.
func unavailable(pods, evict []corev1.Pod) int {
	count := 0
	for i := range pods {
		leaves := false
		for j := range evict {
			leaves = leaves || evict[j].UID == pods[i].UID
		}
		if !leaves && !probe.Ready(&pods[i]) {
			count++
		}
	}
	return count
}
