package outside

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestCheck checks objects with late references: what depends on them is accepted, and nothing else.
func TestCheck(t *testing.T) {
	t.Parallel()
	const monitor = `
kind: Monitor
spec:
  target: {url: "https://example.com"}
  probe: {graphql: {query: %s}}
  rules:
  - {name: a, when: state.app.mood == 1}
  - {name: b, when: %s}
  - {name: c, when: "state."}
`
	for _, test := range []struct {
		name, object string
		want         []string
	}{
		{"another kind", `{kind: ResourceGraph, spec: {filter: "a b"}}`, nil},
		{"another group", `{apiVersion: example.com/v1, kind: Receiver, spec: {filter: "a b"}}`, nil},
		{"monitor", fmt.Sprintf(monitor, `"{ app { health } }"`, `"true"`), []string{"spec.rules[2]: (c): when: column 7: syntax error: unexpected end"}},
		{"late query", fmt.Sprintf(monitor, `{$from: a.b}`, `"state.x"`), []string{"spec.rules[2]: (c): when: column 7: syntax error: unexpected end"}},
		{"late rule", `{kind: Monitor, spec: {target: {url: a}, probe: {graphql: {query: "{ app { health } }"}}, rules: [{$from: a.b}, {name: a, when: state.app.mood == 1}]}}`,
			[]string{"spec.rules[1]: (a) reads app.mood, which the query doesn't select"}},
		{"late state", `{kind: Monitor, spec: {target: {url: a}, probe: {graphql: {query: "{ app { health } }"}}, state: {$from: a.b}, rules: [{name: a, when: state.mood == 1}]}}`, nil},
		{"wrong type", `{kind: Monitor, spec: {probe: 5}}`, nil},
		{"receiver", `{kind: Receiver, spec: {filter: bdy, source: {poll: {every: 1s, items: "item"}}, do: [{reconcile: {apiVersion: a/b/c, kind: A, name: a}}, {apply: {object: {$from: a.b}}}]}}`, []string{
			`spec.filter: no variable "bdy"`, `spec.source.poll.items: no variable "item"`, "spec.source.poll.every: must be at least 10s",
			"spec.do[0].reconcile.apiVersion: unexpected GroupVersion string: a/b/c",
		}},
		{"action", `{kind: Action, spec: {http: {url: a, body: {a: 1}, bodyFrom: run.key}, check: {githubWorkflow: {workflow: a, repository: a/b, ref: main, auth: {}, keyInput: k, inputs: {k: ""}}, driftWhen: "true"}}}`, []string{
			"spec.http.bodyFrom: given beside body: a request has one body",
			"spec.check.githubWorkflow.inputs: has the input keyInput, whose value pequod-actions sets",
		}},
		{"inputs taken over", `{kind: Action, spec: {githubWorkflow: {workflow: a, repository: a/b, ref: main, auth: {}, inputs: {k: ""}}, destroy: {githubWorkflow: {workflow: b, keyInput: k}}}}`, []string{
			"spec.destroy.githubWorkflow.inputs: has the input keyInput, whose value pequod-actions sets",
		}},
		{"variables", `{kind: Action, spec: {gitlabPipeline: {project: a, ref: main, auth: {}, variables: {PEQUOD_RUN: a}}}}`, []string{
			"spec.gitlabPipeline.variables: has the variable keyVariable, whose value pequod-actions sets",
		}},
		{"templates", `{kind: Action, spec: {job: {template: {spec: {containers: [], typo: 1}}}, destroy: {terraform: {image: a, source: {inline: {main.tf: ""}}, template: {spec: {restartPolicy: Always, containers: [{name: tofu, command: [sh]}]}}}}}}`, []string{
			`spec.job.template: json: unknown field "typo"`, "spec.destroy.terraform.template.spec.restartPolicy: must be Never, not Always",
			"spec.destroy.terraform.template.spec.containers: the container tofu has the image of terraform.image, and the command of pequod-actions; remove image, command, args and workingDir",
		}},
		{"late template", `{kind: Action, spec: {job: {template: {$from: a.b}}}}`, nil},
		{"late containers", `{kind: Action, spec: {job: {template: {spec: {containers: {$from: a.b}}}}}}`, nil},
		{"late value", `{kind: Action, spec: {job: {template: {spec: {containers: [{name: a, env: [{name: B, value: {$from: a.b}}]}]}}}}}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			object := map[string]any{"apiVersion": "platform.pequod.io/v1alpha1"}
			if err := yaml.Unmarshal([]byte(test.object), &object); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range Check(object) {
				got = append(got, p.Path+": "+p.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
