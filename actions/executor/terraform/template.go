package terraform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/executor/job"
	"github.com/pequod-io/pequod/actions/executor/terraform/runner"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// container is the name of the container with OpenTofu, and dir the directory of the volume that it
// shares with the container that copies the program.
const (
	container = "tofu"
	dir       = "/" + volume
	volume    = "pequod"
)

// messageFile is where a container leaves its termination message.
const messageFile = "/dev/termination-log"

// user is whom containers run as, unless the template says otherwise. Images of OpenTofu run as
// root by default.
const user = 65532

// gracePeriod is how long OpenTofu may take to end what it is doing, and to store the state, in
// seconds.
const gracePeriod = 300

// decode returns the template of a request, whose first container is that with OpenTofu.
func decode(t *v1alpha1.TerraformExecutor) (*corev1.PodTemplateSpec, error) {
	template := &corev1.PodTemplateSpec{}
	if t.Template != nil {
		d := json.NewDecoder(bytes.NewReader(t.Template.Raw))
		d.DisallowUnknownFields()
		if err := d.Decode(template); err != nil {
			return nil, err
		}
	}
	spec := &template.Spec
	at := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	first := corev1.Container{Name: container}
	if at >= 0 {
		first = spec.Containers[at]
		spec.Containers = slices.Delete(spec.Containers, at, at+1)
	}
	spec.Containers = append([]corev1.Container{first}, spec.Containers...)
	return template, nil
}

// checkTemplate returns the errors of a template.
func checkTemplate(t *v1alpha1.TerraformExecutor) []error {
	template, err := decode(t)
	if err != nil {
		return []error{fmt.Errorf("terraform.template: %w", err)}
	}
	var found []error
	if p := template.Spec.RestartPolicy; p != "" && p != corev1.RestartPolicyNever {
		found = append(found, fmt.Errorf("terraform.template.spec.restartPolicy: must be Never, not %s", p))
	}
	if c := template.Spec.Containers[0]; c.Image != "" || len(c.Command) > 0 || len(c.Args) > 0 || c.WorkingDir != "" {
		found = append(found, errors.New("terraform.template.spec.containers: the container tofu has the image of terraform.image, and the command of pequod-actions; remove image, command, args and workingDir"))
	}
	return found
}

// template returns the template of a Job of a run.
func (e *Executor) template(run executor.Run, mode runner.Mode, more ...string) (*corev1.PodTemplateSpec, error) {
	t := run.Request.Terraform
	template, err := decode(t)
	if err != nil {
		return nil, &executor.Error{Class: executor.Terminal, Message: "terraform.template: " + err.Error()}
	}
	spec := &template.Spec
	spec.RestartPolicy = corev1.RestartPolicyNever
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = run.Account
	}
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = new(int64(gracePeriod))
	}
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	if spec.SecurityContext.RunAsUser == nil {
		spec.SecurityContext.RunAsUser = new(int64(user))
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	mount := corev1.VolumeMount{Name: volume, MountPath: dir}
	c := &spec.Containers[0]
	c.Image = t.Image
	c.Command = []string{dir + "/" + runner.Program, runner.Command}
	c.Args = append([]string{
		string(mode), "--dir=" + dir + "/work", "--input=" + job.Name(run, inputSuffix), "--state=" + runner.StateSuffix(run.Name),
		"--lock-timeout=" + lockTimeout(t), "--message=" + messageFile,
	}, more...)
	c.Env = append(c.Env, itself()...)
	if ref := t.VarsFromSecretRef; ref != nil {
		c.EnvFrom = append(c.EnvFrom, corev1.EnvFromSource{
			Prefix: runner.EnvPrefix(), SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}},
		})
	}
	c.VolumeMounts = append(c.VolumeMounts, mount)
	spec.InitContainers = append([]corev1.Container{{
		Name: "pequod-actions", Image: e.image, Command: []string{runner.Program, runner.Command, "copy", dir},
		Resources: c.Resources, VolumeMounts: []corev1.VolumeMount{mount},
	}}, spec.InitContainers...)
	return template, nil
}

// itself returns the variables with what a Pod knows about itself.
func itself() []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, v := range []struct{ name, field string }{
		{runner.EnvNamespace, "metadata.namespace"}, {runner.EnvPod, "metadata.name"}, {runner.EnvPodUID, "metadata.uid"},
		{runner.EnvJob, "metadata.labels['batch.kubernetes.io/job-name']"},
		{runner.EnvJobUID, "metadata.labels['batch.kubernetes.io/controller-uid']"},
	} {
		env = append(env, corev1.EnvVar{Name: v.name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: v.field}}})
	}
	return env
}
