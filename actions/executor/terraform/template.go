package terraform

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/executor/job"
	"github.com/pequod-io/pequod/actions/executor/terraform/runner"
	"github.com/pequod-io/pequod/api/action"
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

// template returns the template of a Job of a run.
func (e *Executor) template(run executor.Run, mode runner.Mode, more ...string) (*corev1.PodTemplateSpec, error) {
	t := run.Request.Terraform
	template, err := action.TerraformTemplate(t)
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
