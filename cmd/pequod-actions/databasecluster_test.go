package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/github"
	"github.com/pequod-io/pequod/test/process"
)

// databaseCase returns the instance of a case of the module databasecluster.
func databaseCase(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("../../modules/platform/databasecluster/tests", name, "instance.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// databaseEnv is a cluster with a program that executes graphs and pequod-actions, and a server with the workflows of databases. It has
// the settings and the rights that a platform team gives a namespace.
func databaseEnv(t *testing.T, executor process.Program) (*harness.Cluster, *github.Server) {
	t.Helper()
	inputs := strings.Split("name engine engine_version instance_class storage_gb replicas backup_retention_days high_availability pequod_run", " ")
	const title = "database ${{ inputs.pequod_run }}"
	s := github.New(t, github.Options{},
		github.Workflow{ID: 1, File: "database.yaml", Manual: true, Inputs: inputs, Title: title, Conclusion: "success", Jobs: 1, Artifacts: map[string][]byte{"pequod-outputs": zipped(t, `{"endpoint": "production-pg.example.com:5432"}`)}},
		github.Workflow{ID: 2, File: "plan.yaml", Manual: true, Inputs: inputs, Title: title, Conclusion: "success", Artifacts: map[string][]byte{"pequod-outputs": zipped(t, `{"changes": 0}`)}},
	)
	c, as := installed.Borrow(t)
	c.Namespace = "default" // that of the example
	c.Apply(t, string(executor.Manifests))
	c.Apply(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: pequod}}\n---"+strings.ReplaceAll(readSecrets, "name: runner", "name: pequod"))
	c.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: databasecluster}, data: {server: %q, repository: acme/infra}}", s.URL))
	// Without the summary, which is on stderr.
	roles := process.PequodIn(t, t.TempDir(), 0, "rbac", "generate", "-f", databaseCase(t, "seed"))
	c.Apply(t, regexp.MustCompile(`(?m)^pequod: .*\n`).ReplaceAllString(roles, ""))
	executor.Start(t, c, c.ServiceAccount(t, process.Namespace, executor.Account))
	installed.Start(t, c, as, "--allow-egress=127.0.0.0/8,http://127.0.0.1")
	return c, s
}

// TestDatabaseCluster renders and applies the example of the seed as it is. Its workflow runs with
// the fields of the spec, and its output is that of the graph. Another spec runs it again.
func TestDatabaseCluster(t *testing.T) {
	t.Parallel()
	c, s := databaseEnv(t, applier)
	graphs := c.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "")
	for i, step := range []struct {
		name string
		want map[string]string
	}{
		{"seed", map[string]string{"instance_class": "db.large", "storage_gb": "500", "replicas": "2"}},
		{"resized", map[string]string{"instance_class": "db.xlarge", "storage_gb": "1000", "replicas": "3"}},
	} {
		graph := process.PequodIn(t, t.TempDir(), 0, "render", "-f", databaseCase(t, step.name))
		c.Apply(t, regexp.MustCompile(`(?m)^pequod: .*\n`).ReplaceAllString(graph, ""))
		harness.Eventually(t, patience, func(ctx context.Context) error {
			list, err := graphs.List(ctx, metav1.ListOptions{LabelSelector: "pequod.io/transform=databasecluster"})
			if err != nil || len(list.Items) != 1 {
				return fmt.Errorf("%d graphs: %w", len(list.Items), err)
			}
			g := list.Items[0]
			phase, _, _ := unstructured.NestedString(g.Object, "status", "phase")
			endpoint, _, _ := unstructured.NestedString(g.Object, "status", "outputs", "endpoint")
			seen, _, _ := unstructured.NestedInt64(g.Object, "status", "observedGeneration")
			if phase != "Completed" || endpoint != "production-pg.example.com:5432" || seen != g.GetGeneration() || len(s.Runs()) != i+1 {
				return fmt.Errorf("%d runs; status: %v", len(s.Runs()), g.Object["status"])
			}
			return nil
		})
		run, want := s.Runs()[i], step.want
		for name, value := range map[string]string{"name": "production-pg", "engine": "postgres", "engine_version": "16.2", "backup_retention_days": "14", "high_availability": "true"} {
			want[name] = value
		}
		key := run.Inputs["pequod_run"]
		delete(run.Inputs, "pequod_run")
		if diff := cmp.Diff(want, run.Inputs); diff != "" || key == "" || run.Workflow.File != "database.yaml" || run.Ref != "main" {
			t.Errorf("%s: run with key %q of %s@%s (-want +got):\n%s", step.name, key, run.Workflow.File, run.Ref, diff)
		}
	}
	action := c.Get(t, "platform.pequod.io/v1alpha1", "Action", "production-pg")
	if phase, _, _ := unstructured.NestedString(action.Object, "status", "phase"); phase != "Completed" {
		t.Errorf("the Action: %v", action.Object["status"])
	}
	// Deleting the resource undoes nothing but a run in progress, as in the seed.
	if err := graphs.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	(&graphEnv{Cluster: c}).missing(t, "Action", "production-pg")
	if runs := s.Runs(); len(runs) != 2 {
		t.Errorf("runs after the deletion: %v", runs)
	}
}
