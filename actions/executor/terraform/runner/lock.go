package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations of the Lease of a state: what OpenTofu says about its holder, and which Pod
// locks it next.
const (
	annotationLock = "app.terraform.io/lock-info"
	annotationPod  = "pequod.io/tofu-pod"
)

// lockPoll is how often a lock that another process holds is read.
const lockPoll = time.Second

// lockInfo describes the holder of a lock, in the JSON form of OpenTofu.
type lockInfo struct {
	Who, Operation, Created string
}

// holder is the Pod that has announced itself, with the host that OpenTofu names as the holder.
type holder struct {
	Pod  string `json:"pod"`
	UID  string `json:"uid"`
	Host string `json:"host"`
}

// claim announces that this Pod locks the state, so that the next one knows whose lock it is if this
// one is killed. A lock of a Pod that is gone is released. Other locks are awaited.
func (r *runner) claim(ctx context.Context) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	own := holder{Pod: r.pod, UID: r.podUID, Host: name}
	for until := time.Now().Add(r.lockTimeout); ; {
		who, err := r.tryClaim(ctx, own)
		switch {
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
			continue
		case err != nil || who == "":
			return err
		case time.Now().After(until):
			return &failure{message: "the state is locked by " + who}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// tryClaim returns who has locked the state, or "" if the Pod has announced itself.
func (r *runner) tryClaim(ctx context.Context, own holder) (who string, err error) {
	announced, err := json.Marshal(own)
	if err != nil {
		return "", err
	}
	lease, err := r.leases.Get(ctx, lockName(r.suffix), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			// OpenTofu deletes only what has its labels.
			Name: lockName(r.suffix), Annotations: map[string]string{annotationPod: string(announced)},
			Labels: map[string]string{
				"tfstate": "true", "tfstateSecretSuffix": r.suffix, "tfstateWorkspace": "default", "app.kubernetes.io/managed-by": "terraform",
			},
		}}
		_, err = r.leases.Create(ctx, lease, metav1.CreateOptions{})
		return "", err
	}
	if err != nil {
		return "", err
	}
	if id := lease.Spec.HolderIdentity; id != nil && *id != "" {
		gone, by, err := r.abandoned(ctx, lease)
		if err != nil || !gone {
			return by, err
		}
		fmt.Fprintf(r.log, "releasing the lock of %s, whose Pod is gone\n", by)
		lease.Spec.HolderIdentity = nil
		delete(lease.Annotations, annotationLock)
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[annotationPod] = string(announced)
	_, err = r.leases.Update(ctx, lease, metav1.UpdateOptions{})
	return "", err
}

// abandoned reports whether a lock is that of a Pod that is gone, and who holds it.
func (r *runner) abandoned(ctx context.Context, lease *coordinationv1.Lease) (gone bool, who string, err error) {
	var info lockInfo
	var pod holder
	if json.Unmarshal([]byte(lease.Annotations[annotationLock]), &info) != nil {
		return false, "somebody", nil
	}
	who = fmt.Sprintf("%s since %s (%s)", info.Who, info.Created, info.Operation)
	if json.Unmarshal([]byte(lease.Annotations[annotationPod]), &pod) != nil || pod.Host != host(info.Who) {
		return false, who, nil
	}
	found, err := r.pods.Get(ctx, pod.Pod, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, who, nil
	case err != nil:
		return false, who, err
	}
	ended := found.Status.Phase == corev1.PodSucceeded || found.Status.Phase == corev1.PodFailed
	return string(found.UID) != pod.UID || ended, who, nil
}
