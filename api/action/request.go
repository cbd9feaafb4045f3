package action

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// MaxInputs is the number of inputs that GitHub takes.
const MaxInputs = 25

// DefaultKeyVariable is the variable of GitLab that gets the key of a run.
const DefaultKeyVariable = "PEQUOD_RUN"

// Container is the container of a template of the executor terraform in which OpenTofu runs.
const Container = "tofu"

// Request returns the problems of what an executor gets that neither the CRD nor the fields alone
// show: of fields of any type, and of what a check or a destroy takes over from the spec. The paths
// begin at the executor.
func Request(e v1alpha1.ActionExecutor) problem.List {
	var found problem.List
	add := func(path, format string, args ...any) {
		found = append(found, problem.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	// Rules of CRDs can't read fields of any type.
	if h := e.HTTP; h != nil && h.Body != nil && h.BodyFrom != "" {
		add("http.bodyFrom", "given beside body: a request has one body")
	}
	if g := e.GitHubWorkflow; g != nil {
		count := len(g.Inputs)
		if g.KeyInput != "" {
			count++
		}
		if count > MaxInputs {
			add("githubWorkflow.inputs", "GitHub takes at most %d inputs, with keyInput", MaxInputs)
		}
		if _, set := g.Inputs[g.KeyInput]; set {
			add("githubWorkflow.inputs", "has the input keyInput, whose value pequod-actions sets")
		}
	}
	if g := e.GitLabPipeline; g != nil {
		if _, set := g.Variables[cmp.Or(g.KeyVariable, DefaultKeyVariable)]; set {
			add("gitlabPipeline.variables", "has the variable keyVariable, whose value pequod-actions sets")
		}
	}
	if e.Job != nil && len(e.Job.Template.Raw) > 0 {
		t, err := JobTemplate(e.Job)
		switch {
		case err != nil:
			add("job.template", "%v", err)
		case len(t.Spec.Containers) == 0:
			add("job.template.spec.containers", "at least one container is required")
		case !slices.Contains([]corev1.RestartPolicy{"", corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}, t.Spec.RestartPolicy):
			add("job.template.spec.restartPolicy", "must be Never or OnFailure, not %s", t.Spec.RestartPolicy)
		}
	}
	if e.Terraform != nil {
		t, err := TerraformTemplate(e.Terraform)
		if err != nil {
			add("terraform.template", "%v", err)
			return found
		}
		if p := t.Spec.RestartPolicy; p != "" && p != corev1.RestartPolicyNever {
			add("terraform.template.spec.restartPolicy", "must be Never, not %s", p)
		}
		if c := t.Spec.Containers[0]; c.Image != "" || len(c.Command) > 0 || len(c.Args) > 0 || c.WorkingDir != "" {
			add("terraform.template.spec.containers", "the container %s has the image of terraform.image, and the command of pequod-actions; remove image, command, args and workingDir", Container)
		}
	}
	return found
}

// Requests returns the problems of [Request] of all executors of a spec. The paths begin at the spec.
func Requests(spec *v1alpha1.ActionSpec) problem.List {
	found := Request(spec.ActionExecutor)
	nested := func(at string, e v1alpha1.ActionExecutor) {
		for _, p := range Request(e.For(spec.ActionExecutor)) {
			p.Path = at + "." + p.Path
			found = append(found, p)
		}
	}
	if spec.Check != nil {
		nested("check", spec.Check.ActionExecutor)
	}
	if spec.Destroy != nil && !spec.Destroy.Skip {
		nested("destroy", spec.Destroy.ActionExecutor)
	}
	return found
}

// JobTemplate returns the Pod template of a Job. Unknown fields are errors, since they would have
// no effect.
func JobTemplate(j *v1alpha1.JobExecutor) (*corev1.PodTemplateSpec, error) {
	return podTemplate(j.Template.Raw)
}

// TerraformTemplate returns the Pod template of the Jobs of OpenTofu, whose first container is
// [Container].
func TerraformTemplate(t *v1alpha1.TerraformExecutor) (*corev1.PodTemplateSpec, error) {
	template := &corev1.PodTemplateSpec{}
	if t.Template != nil {
		var err error
		if template, err = podTemplate(t.Template.Raw); err != nil {
			return nil, err
		}
	}
	spec := &template.Spec
	first := corev1.Container{Name: Container}
	if at := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == Container }); at >= 0 {
		first = spec.Containers[at]
		spec.Containers = slices.Delete(spec.Containers, at, at+1)
	}
	spec.Containers = append([]corev1.Container{first}, spec.Containers...)
	return template, nil
}

// podTemplate decodes a Pod template.
func podTemplate(raw []byte) (*corev1.PodTemplateSpec, error) {
	t := &corev1.PodTemplateSpec{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return nil, err
	}
	return t, nil
}
