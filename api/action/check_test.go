package action

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestCheck checks executors and expressions.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, spec string
		want       []string
	}{
		{"right", `{http: {url: "https://a", bodyFrom: run.key}, outputs: {a: run.response.body.id}}`, nil},
		{"no executor", `{outputs: {a: run.key}}`, []string{": has no executor"}},
		{"two executors", `{http: {url: {$from: a.b}}, external: {url: "https://a"}}`, []string{"http: given beside external: an Action has one executor"}},
		{"no executor of a check", `{http: {url: "https://a"}, check: {every: 5m, driftWhen: "true"}}`, []string{"check: has no executor"}},
		{"a check of its own", `{http: {url: "https://a"}, check: {every: 5m, driftWhen: "true", githubWorkflow: {workflow: plan.yaml, ref: main}}}`, []string{
			"check.githubWorkflow: has no repository, and spec.githubWorkflow isn't there to take it over from",
			"check.githubWorkflow: has no auth, and spec.githubWorkflow isn't there to take it over from",
		}},
		{"a configuration of its own", `{http: {url: "https://a"}, destroy: {terraform: {source: {configMapRef: {name: a}}}}}`, []string{
			"destroy.terraform: has no image, and spec.terraform isn't there to take it over from",
		}},
		{"a destroy of its own", `{http: {url: "https://a"}, destroy: {gitlabPipeline: {project: {$from: a.b}, ref: main, auth: {tokenSecretRef: {name: a, key: b}}}}}`, nil},
		{"a destroy that takes over", `{gitlabPipeline: {project: a, ref: main, auth: {}}, destroy: {gitlabPipeline: {variables: {A: b}}}}`, nil},
		{"a late destroy", `{http: {url: "https://a"}, destroy: {$from: a.b}}`, nil},
		{"skip", `{http: {url: "https://a"}, destroy: {skip: true}}`, nil},
		{"expressions", `{http: {url: "https://a", poll: {url: "run.", until: ruin.done}}, outputs: {a: "1 +"}}`, []string{
			"http.poll.until: no variable \"ruin\"", "http.poll.url: column 5: syntax error: unexpected end",
			"outputs.a: column 4: syntax error: unexpected end",
		}},
		{"terraform", `{terraform: {image: a, source: {inline: {main.tf: "", modules/a/main.tf: ""}}}, sensitiveOutputs: {values: {a: run.sensitive.a}}}`, nil},
		{"a late source", `{terraform: {source: {inline: {main.tf: {$from: a.b}}}}, check: {terraform: {source: {$from: a.b}}, driftWhen: "true"}}`, nil},
		{"sources", `{terraform: {source: {inline: {main.tf: ""}, configMapRef: {name: a}}}, destroy: {terraform: {source: {}}}}`, []string{
			"terraform.source: exactly one of inline and configMapRef is required",
			"destroy.terraform.source: exactly one of inline and configMapRef is required",
		}},
		{"files", `{terraform: {source: {inline: {../main.tf: "", /a.tf: "", a//b.tf: "", modules/main.tf: "", pequod.tfplan: "", terraform.tfvars: ""}}}}`, []string{
			"terraform.source.inline[\"../main.tf\"]: isn't the name of a file in the directory",
			"terraform.source.inline[\"/a.tf\"]: isn't the name of a file in the directory",
			"terraform.source.inline[\"a//b.tf\"]: isn't the name of a file in the directory",
			"terraform.source.inline[\"pequod.tfplan\"]: pequod-actions writes pequod_override.tf.json, pequod.tfvars.json and pequod.tfplan",
			"terraform.source.inline: has no configuration in the root module",
		}},
		{"sensitive values", `{terraform: {}, outputs: {a: run.sensitive.a, b: run.outputs.sensitive}, check: {terraform: {}, driftWhen: 'run["sensitive"].a == 1'}}`, []string{
			"check.driftWhen: reads run.sensitive", "outputs.a: reads run.sensitive",
		}},
		{"late references and wrong types", `{http: {urlFrom: {$from: a.b}, poll: [1]}, outputs: [x]}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(test.spec), &spec); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range Check(spec) {
				got = append(got, fmt.Sprintf("%s: %s", p.Path, p.Message))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
