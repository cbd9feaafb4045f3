package terraform

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/executor/job"
	"github.com/pequod-io/pequod/actions/executor/terraform/runner"
	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// variable is the form of the name of a variable that can be in the environment.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// store writes the Secret with the input of a run, unless it exists. It belongs to the Action until a
// Pod of the run gives it to its Job; that of a destroy has no owner until then, because a deletion
// of the Action may delete what it owns.
func (e *Executor) store(ctx context.Context, run executor.Run) error {
	client, err := e.jobs.Accounts.Client(run.Namespace, run.Account)
	if err != nil {
		return err
	}
	if err := checkVariables(ctx, client, run.Request.Terraform); err != nil {
		return err
	}
	name := job.Name(run, inputSuffix)
	known, err := client.Secrets.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil && known.Labels[v1alpha1.LabelRun] != run.Key:
		return &executor.Error{Class: executor.Terminal, Message: "the Secret " + name + " exists, and is not that of the run"}
	case err == nil:
		return nil
	case !apierrors.IsNotFound(err):
		return job.Failure(err)
	}
	in, err := input(ctx, client, run.Request.Terraform)
	if err != nil {
		return err
	}
	data, err := in.Data()
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelRun: run.Key,
	}}, Immutable: new(true), Data: data}
	if run.Purpose != v1alpha1.RunDestroy {
		secret.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Action", Name: run.Name, UID: run.UID,
		}}
	}
	if _, err := client.Secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: v1alpha1.ActionsProgram}); err != nil {
		return job.Failure(err)
	}
	return nil
}

// absent returns the error of an object of the namespace that can't be read. Others may make it at
// any time.
func absent(kind, name string, err error) error {
	if apierrors.IsNotFound(err) {
		return &executor.Error{Class: executor.Retry, Message: fmt.Sprintf("the %s %s does not exist", kind, name)}
	}
	return job.Failure(err)
}

// input returns the input of a run.
func input(ctx context.Context, client *identity.Client, t *v1alpha1.TerraformExecutor) (runner.Input, error) {
	in := runner.Input{Files: map[string]string{}}
	if t.Vars != nil {
		in.Vars = t.Vars.Raw
	}
	size := len(in.Vars)
	if ref := t.Source.ConfigMapRef; ref != nil {
		source, err := client.ConfigMaps.Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return in, absent("ConfigMap", ref.Name, err)
		}
		for name := range source.BinaryData {
			return in, &executor.Error{Class: executor.Terminal, Message: fmt.Sprintf("the ConfigMap %s: %s is not text", ref.Name, name)}
		}
		maps.Copy(in.Files, source.Data)
	}
	maps.Copy(in.Files, t.Source.Inline)
	for name, text := range in.Files {
		size += len(name) + len(text)
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(in.Files)), isConfiguration) {
		return in, &executor.Error{Class: executor.Terminal, Message: "the source has no file in the root module whose name ends in .tf, .tf.json, .tofu or .tofu.json"}
	}
	if size > runner.MaxStored {
		return in, &executor.Error{Class: executor.Terminal, Message: fmt.Sprintf("the files have %d bytes, more than %d", size, runner.MaxStored)}
	}
	return in, nil
}

// isConfiguration reports whether a file is one that OpenTofu reads in the root module.
func isConfiguration(name string) bool {
	return !strings.Contains(name, "/") && slices.ContainsFunc([]string{".tf", ".tf.json", ".tofu", ".tofu.json"}, func(suffix string) bool {
		return strings.HasSuffix(name, suffix)
	})
}

// checkVariables checks the Secret with variables. It is read as the service account, which must be
// allowed to, although the kubelet reads it for the Pod.
func checkVariables(ctx context.Context, client *identity.Client, t *v1alpha1.TerraformExecutor) error {
	ref := t.VarsFromSecretRef
	if ref == nil {
		return nil
	}
	secret, err := client.Secrets.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return absent("Secret", ref.Name, err)
	}
	var given map[string]any
	if t.Vars != nil {
		if err := json.Unmarshal(t.Vars.Raw, &given); err != nil {
			return &executor.Error{Class: executor.Terminal, Message: "terraform.vars: " + err.Error()}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secret.Data)) {
		_, twice := given[name]
		switch {
		case twice:
			return &executor.Error{Class: executor.Terminal, Message: fmt.Sprintf("the variable %s is in terraform.vars and in the Secret %s", name, ref.Name)}
		case !variable.MatchString(name):
			return &executor.Error{Class: executor.Terminal, Message: fmt.Sprintf("the Secret %s: %s can't be the name of a variable", ref.Name, name)}
		}
	}
	return nil
}

// lockTimeout is how long a run waits for the lock of the state.
func lockTimeout(t *v1alpha1.TerraformExecutor) string {
	return cmp.Or(string(t.LockTimeout), "5m")
}
