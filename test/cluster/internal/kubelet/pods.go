package kubelet

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// pods updates the Pods of the nodes.
type pods struct {
	client   kubernetes.Interface
	opts     Options
	lister   listersv1.PodLister
	queue    queue
	seen     *firstSeen
	ips      *addresses
	recorder record.EventRecorder
	// processes are those of Pods with the annotation RunFrom.
	processes *processes
}

// newPods returns the Pods of the nodes in opts. Events go to the broadcaster.
func newPods(client kubernetes.Interface, opts Options, broadcaster record.EventBroadcaster) *pods {
	queue := newQueue()
	return &pods{
		client:   client,
		opts:     opts,
		queue:    queue,
		seen:     newFirstSeen(),
		ips:      newAddresses(),
		recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet"}),

		processes: newProcesses(client, opts.Server, queue.Add),
	}
}

// adopt continues an earlier run on the same data: Pods keep their addresses and
// start times.
func (p *pods) adopt(now time.Time) error {
	all, err := p.lister.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, pod := range all {
		if !p.ours(pod) || pod.Status.StartTime == nil {
			continue
		}
		p.seen.of(pod.UID, pod.Status.StartTime.Time)
		p.ips.keep(pod.UID, pod.Status.PodIP)
	}
	return nil
}

// ours reports whether a Pod is bound to one of the nodes.
func (p *pods) ours(pod *corev1.Pod) bool { return slices.Contains(p.opts.Nodes, pod.Spec.NodeName) }

// forget frees what is kept for a Pod that no longer exists.
func (p *pods) forget(uid types.UID) {
	p.seen.forget(uid)
	p.ips.release(uid)
	p.processes.forget(uid)
}

// sync updates the status of a Pod, or removes the Pod if it is being deleted. It
// returns when the Pod must be synced again.
func (p *pods) sync(ctx context.Context, key string) (time.Duration, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return 0, err
	}
	pod, err := p.lister.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil || !p.ours(pod) {
		return 0, err
	}
	if pod.Annotations[RunFrom] != "" {
		return p.syncProcesses(ctx, pod)
	}
	now := time.Now()
	if pod.DeletionTimestamp != nil {
		if wait := goneAt(pod).Sub(now); wait > 0 {
			return wait, nil
		}
		return 0, p.remove(ctx, pod)
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0, nil
	}
	status, next := statusAt(pod, p.address(pod), p.seen.of(pod.UID, now), now, p.opts.Backoff)
	if !equality.Semantic.DeepEqual(status, pod.Status) {
		changed := pod.DeepCopy()
		changed.Status = status
		if _, err := p.client.CoreV1().Pods(namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
			return 0, ignoreGone(err)
		}
		p.recordEvents(pod, status)
	}
	if next.IsZero() {
		return 0, nil
	}
	return max(time.Until(next), time.Millisecond), nil
}

// address returns the address of a Pod. Pods in the host network have the address
// of their node.
func (p *pods) address(pod *corev1.Pod) string {
	if pod.Spec.HostNetwork {
		return nodeAddress
	}
	if address := pod.Annotations[Address]; address != "" {
		return address
	}
	return p.ips.of(pod.UID)
}

// goneAt returns when a Pod that is being deleted is removed.
func goneAt(pod *corev1.Pod) time.Time {
	var grace time.Duration
	if seconds := pod.DeletionGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	// An invalid value counts as none.
	after, _ := time.ParseDuration(pod.Annotations[TerminateAfter])
	return pod.DeletionTimestamp.Add(-grace + min(after, grace))
}

// remove deletes the Pod immediately, unless it was replaced by another one of
// the same name.
func (p *pods) remove(ctx context.Context, pod *corev1.Pod) error {
	return ignoreGone(p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	}))
}

// ignoreGone returns nil if err means that the object no longer exists.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// recordEvents records an Event for every container that has started to wait for
// something that may never come.
func (p *pods) recordEvents(pod *corev1.Pod, status corev1.PodStatus) {
	for _, now := range append(slices.Clone(status.InitContainerStatuses), status.ContainerStatuses...) {
		waiting := now.State.Waiting
		if waiting == nil || waitingReason(pod, now.Name) == waiting.Reason {
			continue
		}
		switch waiting.Reason {
		case imagePullBackOff:
			p.recorder.Event(pod, corev1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: not found", now.Image))
		case configError:
			p.recorder.Event(pod, corev1.EventTypeWarning, "Failed", "Error: "+waiting.Message)
		case crashLoopBackOff:
			p.recorder.Event(pod, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container "+now.Name)
		}
	}
}

// waitingReason returns the reason for which the container was waiting in the
// stored status of the Pod.
func waitingReason(pod *corev1.Pod, container string) string {
	for _, status := range append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...) {
		if status.Name == container && status.State.Waiting != nil {
			return status.State.Waiting.Reason
		}
	}
	return ""
}
