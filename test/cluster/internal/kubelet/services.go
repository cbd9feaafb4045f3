package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// balancerAddress is the address of every Service of type LoadBalancer. It is
// from a network that is reserved for documentation (RFC 5737).
const balancerAddress = "192.0.2.10"

// services takes the place of the cloud controller that assigns addresses to load
// balancers.
type services struct {
	client kubernetes.Interface
	lister listersv1.ServiceLister
	queue  queue
	seen   *firstSeen
}

// newServices returns the controller for the Services of the cluster.
func newServices(client kubernetes.Interface) *services {
	return &services{client: client, queue: newQueue(), seen: newFirstSeen()}
}

// sync assigns or removes the address of a Service, and returns when the Service
// must be synced again.
func (s *services) sync(ctx context.Context, key string) (time.Duration, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return 0, err
	}
	service, err := s.lister.Services(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	now := time.Now()
	ingress, wait, err := ingressAt(service, s.seen.of(service.UID, now), now)
	if err != nil || wait > 0 || equality.Semantic.DeepEqual(service.Status.LoadBalancer.Ingress, ingress) {
		return wait, err
	}
	changed := service.DeepCopy()
	changed.Status.LoadBalancer.Ingress = ingress
	_, err = s.client.CoreV1().Services(namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return 0, ignoreGone(err)
}

// ingressAt returns the address of a Service, or how long the Service still has
// to wait for it.
func ingressAt(service *corev1.Service, start, now time.Time) ([]corev1.LoadBalancerIngress, time.Duration, error) {
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil, 0, nil
	}
	if value, given := service.Annotations[ReadyAfter]; given {
		if value == never {
			return nil, 0, nil
		}
		after, err := time.ParseDuration(value)
		if err != nil {
			return nil, 0, fmt.Errorf("annotation %s: %w", ReadyAfter, err)
		}
		if wait := start.Add(after).Sub(now); wait > 0 {
			return nil, wait, nil
		}
	}
	vip := corev1.LoadBalancerIPModeVIP
	return []corev1.LoadBalancerIngress{{IP: balancerAddress, IPMode: &vip}}, 0, nil
}
