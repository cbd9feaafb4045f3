package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// owners returns the Job as the owner of a Secret.
func (r *runner) owners() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: r.job, UID: types.UID(r.jobUID)}}
}

// take reads the input. Its Secret belongs to the Job from now on, and goes with it.
func (r *runner) take(ctx context.Context) (Input, error) {
	var in Input
	secret, err := r.secrets.Get(ctx, r.input, metav1.GetOptions{})
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(secret.Data[inputKey], &in); err != nil {
		//lint:ignore ST1005 it begins with a kind
		return in, fmt.Errorf("Secret %s: %w", r.input, err)
	}
	if r.plan != "" { // it belongs to the Job that has made the plan
		return in, nil
	}
	secret.OwnerReferences = r.owners()
	_, err = r.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return in, err
}

// put stores the result, and the plan if it waits for approval, in the Secret of the Job.
func (r *runner) put(ctx context.Context, result Result) error {
	data, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if len(data) > MaxStored {
		return &failure{message: fmt.Sprintf("the outputs have %d bytes, more than %d", len(data), MaxStored), permanent: true}
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: r.job, OwnerReferences: r.owners(), Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}},
		Data:       map[string][]byte{resultKey: data},
	}
	if result.Digest != "" {
		if secret.Data[planKey], err = os.ReadFile(filepath.Join(r.dir, planFile)); err != nil {
			return err
		}
	}
	_, err = r.secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // by a Pod of the same Job that was replaced
		_, err = r.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}

// digestOf returns the digest of a plan, unless it is too large to be stored.
func (r *runner) digestOf() (string, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, planFile))
	if err != nil {
		return "", err
	}
	if len(data) > MaxStored {
		return "", &failure{permanent: true, message: fmt.Sprintf(
			"the plan has %d bytes, and a Secret can store %d for an approval: split the configuration, or set approval: None", len(data), MaxStored)}
	}
	return digest(data), nil
}

func digest(plan []byte) string {
	sum := sha256.Sum256(plan)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// fetch writes the plan that was approved to its file. It returns the result of the Job that made it.
func (r *runner) fetch(ctx context.Context) (Result, error) {
	secret, err := r.secrets.Get(ctx, r.plan, metav1.GetOptions{})
	if err != nil {
		return Result{}, err
	}
	planned, err := ReadResult(secret.Data)
	if err != nil {
		return Result{}, err
	}
	if got := digest(secret.Data[planKey]); got != r.digest {
		return Result{}, &failure{message: fmt.Sprintf("the plan in the Secret %s has the digest %s; %s was approved", r.plan, got, r.digest)}
	}
	planned.Digest = ""
	return planned, os.WriteFile(filepath.Join(r.dir, planFile), secret.Data[planKey], 0o600)
}

// forget deletes the state, which has no resources any more, and its lock.
func (r *runner) forget(ctx context.Context) error {
	if err := r.secrets.Delete(ctx, StateName(r.suffix), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := r.leases.Delete(ctx, lockName(r.suffix), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
