package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// keep is how long Jobs are kept after their end was seen.
const keep = 24 * time.Hour

// keepDestroy is how long the Job that undoes an Action is kept after its end. It outlives the
// Action, so nothing else removes it.
const keepDestroy = 7 * 24 * time.Hour

// Accounts returns clients that act as service accounts.
type Accounts interface {
	Client(namespace, account string) (*identity.Client, error)
}

// Jobs executes runs as Jobs.
type Jobs struct {
	Accounts Accounts
	// Now returns the time.
	Now func() time.Time
}

// Name returns the name of a Job of a run. Runs with more than one Job have a suffix of at most 6
// bytes for each.
func Name(run executor.Run, suffix string) string {
	name := strings.ReplaceAll(run.Name, ".", "-")
	name = strings.TrimRight(name[:min(len(name), 24)], "-")
	return name + "-" + run.Key + suffix
}

// Create creates a Job, unless it exists.
func (j Jobs) Create(ctx context.Context, run executor.Run, name string, template corev1.PodTemplateSpec, repeats int32) (*executor.Observation, error) {
	client, err := j.Accounts.Client(run.Namespace, run.Account)
	if err != nil {
		return nil, err
	}
	restrict(&template.Spec)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelRun: run.Key,
		}},
		Spec: batchv1.JobSpec{
			Template: template, BackoffLimit: &repeats,
			// A Pod that is lost may still run, until its node is back.
			PodReplacementPolicy: new(batchv1.Failed),
		},
	}
	if run.Purpose == v1alpha1.RunDestroy {
		// A deletion of the Action with foreground propagation would delete what it owns.
		job.Spec.TTLSecondsAfterFinished = new(int32(keepDestroy.Seconds()))
	} else {
		job.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Action", Name: run.Name, UID: run.UID, Controller: new(true),
		}}
	}
	created, err := client.Jobs.Create(ctx, job, metav1.CreateOptions{FieldManager: v1alpha1.ActionsProgram})
	if apierrors.IsAlreadyExists(err) {
		created, err = j.get(ctx, run, name)
		if err == nil && created == nil {
			err = &executor.Error{Class: executor.Unknown, Message: "the Job " + name + " was deleted just now"}
		}
	}
	if err != nil {
		return nil, Failure(err)
	}
	return begun(created), nil
}

// get returns the Job of a run, or nil.
func (j Jobs) get(ctx context.Context, run executor.Run, name string) (*batchv1.Job, error) {
	client, err := j.Accounts.Client(run.Namespace, run.Account)
	if err != nil {
		return nil, err
	}
	job, err := client.Jobs.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, Failure(err)
	case job.Labels[v1alpha1.LabelRun] != run.Key:
		return nil, &executor.Error{Class: executor.Terminal, Message: "the Job " + name + " exists, and is not that of the run"}
	}
	return job, nil
}

// Find returns the run if its Job exists, else nil. It reports no end, so that a run is recorded
// as begun before Observe lets its Job expire.
func (j Jobs) Find(ctx context.Context, run executor.Run, name string) (*executor.Observation, error) {
	if run.Fresh {
		return nil, nil
	}
	job, err := j.get(ctx, run, name)
	if job == nil || err != nil {
		return nil, err
	}
	return begun(job), nil
}

// begun returns the observation of a Job that exists.
func begun(job *batchv1.Job) *executor.Observation {
	return &executor.Observation{State: v1alpha1.RunRunning, ID: job.Name}
}

// Seen is the state of a Job.
type Seen struct {
	*executor.Observation
	// End is the end of the first container of the last Pod, or nil.
	End *corev1.ContainerStateTerminated
	// Deleted is set if the Job is being deleted.
	Deleted bool

	job *batchv1.Job
}

// Look returns the state of a Job of a run, or nil if it doesn't exist.
func (j Jobs) Look(ctx context.Context, run executor.Run, name string) (*Seen, error) {
	job, err := j.get(ctx, run, name)
	if job == nil || err != nil {
		return nil, err
	}
	o := begun(job)
	pod, err := j.pod(ctx, run, job)
	if err != nil {
		return nil, err
	}
	seen := &Seen{Observation: o, Deleted: job.DeletionTimestamp != nil, job: job}
	if pod != nil {
		seen.End = endOf(pod, job.Spec.Template.Spec.Containers[0].Name)
	}
	condition := finished(job)
	switch {
	case seen.Deleted && (condition == nil || seen.End == nil): // Pods go before their Job
		o.Message, seen.End = "the Job is being deleted", nil
	case condition == nil:
		o.Message, seen.End = waits(pod), nil
	case condition.Type == batchv1.JobComplete && seen.End == nil:
		return nil, &executor.Error{Class: executor.Gone, Message: "the Pod of the Job " + name + " is gone, and its termination message with it"}
	case condition.Type == batchv1.JobComplete:
		o.State = v1alpha1.RunSucceeded
	default:
		o.State, o.Message = v1alpha1.RunFailed, failed(condition, pod)
		o.Permanent = condition.Reason == batchv1.JobReasonPodFailurePolicy
	}
	return seen, nil
}

// Missing returns the observation of a run whose Job is missing.
func Missing(run executor.Run, name string) (*executor.Observation, error) {
	if !run.CancelRequestedAt.IsZero() {
		return &executor.Observation{State: v1alpha1.RunCancelled, ID: name, Message: "the Job was deleted"}, nil
	}
	return nil, &executor.Error{Class: executor.Gone, Message: "the Job " + name + " is gone: it was deleted, or has expired"}
}

// Observe returns the state of a run, and the end of the first container of its last Pod, if it
// has ended. Its Job expires then.
func (j Jobs) Observe(ctx context.Context, run executor.Run, name string) (*executor.Observation, *corev1.ContainerStateTerminated, error) {
	seen, err := j.Look(ctx, run, name)
	switch {
	case err != nil:
		return nil, nil, err
	case seen == nil:
		o, err := Missing(run, name)
		return o, nil, err
	}
	return seen.Observation, seen.End, j.Expire(ctx, run, seen)
}

// endOf returns the end of a container, or nil. The kubelet sorts statuses by name, not in the
// order of the Pod.
func endOf(pod *corev1.Pod, container string) *corev1.ContainerStateTerminated {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.Name == container {
			return c.State.Terminated
		}
	}
	return nil
}

// finished returns the condition by which a Job has ended, or nil.
func finished(job *batchv1.Job) *batchv1.JobCondition {
	for i, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}

// Expire has a Job that has ended removed some time from now. The time of Kubernetes counts from the
// end of the Job.
func (j Jobs) Expire(ctx context.Context, run executor.Run, seen *Seen) error {
	job := seen.job
	condition := finished(job)
	if condition == nil || job.Spec.TTLSecondsAfterFinished != nil || seen.Deleted {
		return nil
	}
	client, err := j.Accounts.Client(run.Namespace, run.Account)
	if err != nil {
		return err
	}
	seconds := int64((max(j.Now().Sub(condition.LastTransitionTime.Time), 0) + keep).Seconds())
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"ttlSecondsAfterFinished":%d}}`, job.UID, seconds)
	_, err = client.Jobs.Patch(ctx, job.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: v1alpha1.ActionsProgram})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return Failure(err)
	}
	return nil
}

// Delete deletes the Job of a run, and then its Pods; it is gone when they are.
func (j Jobs) Delete(ctx context.Context, run executor.Run, name string) error {
	job, err := j.get(ctx, run, name)
	if job == nil || err != nil {
		return err
	}
	client, err := j.Accounts.Client(run.Namespace, run.Account)
	if err != nil {
		return err
	}
	err = client.Jobs.Delete(ctx, name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationForeground), Preconditions: &metav1.Preconditions{UID: &job.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return Failure(err)
	}
	return nil
}

// Failure returns an error of the API server with its class. Others may grant rights, and raise
// quotas, at any time.
func Failure(err error) error {
	var known *executor.Error
	class := executor.Unknown
	switch {
	case errors.As(err, &known):
		return err
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		class = executor.Retry
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		class = executor.Terminal
	}
	return &executor.Error{Class: class, Message: err.Error()}
}
