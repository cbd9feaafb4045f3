package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/executor"
	"github.com/pequod-io/pequod/test/hosts/github"
	"github.com/pequod-io/pequod/test/hosts/gitlab"
)

// TestExecutorLoad makes 1,000 Actions at once, first of all executors together, and then of each one. The program
// has one core, which 20 other processes use all the time. Each Action runs once, and none has an unknown outcome.
func TestExecutorLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	names := []string{"external", "github", "gitlab", "http", "job", "terraform"}
	t.Run("all", func(t *testing.T) { newBurst(t).burst(t, 1000, names...) })
	for _, name := range names {
		t.Run(name, func(t *testing.T) { newBurst(t).burst(t, 1000, name) })
	}
}

// burstEnv is an env with a server for each executor.
type burstEnv struct {
	*tofuEnv
	of map[string]loaded
}

// loaded is an executor under load.
type loaded struct {
	// field returns the field of the executor of an Action that runs a number.
	field func(number int) string
	// ran returns the numbers of the runs, in their order.
	ran func() []string
}

// newBurst returns an env. Nothing that it runs can be found by a key but Jobs, so that a run that was recorded and not
// begun at once would wait for a person.
func newBurst(t *testing.T) *burstEnv {
	t.Helper()
	e := &burstEnv{newTerraform(t), map[string]loaded{}}
	script := "#!/bin/sh\necho $1 >> " + e.out + "/job\n"
	if err := os.WriteFile(filepath.Join(e.scripts, "count"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	e.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: servers}, stringData: {github: "+github.Token+", gitlab: "+gitlab.Token+"}}")
	hub := github.New(t, github.Options{Prefix: "/api/v3", Mode: github.Details},
		github.Workflow{ID: 1, File: "run.yaml", Manual: true, Inputs: []string{"size"}, Conclusion: "success"})
	lab := gitlab.New(t, gitlab.Options{})
	protocol := executor.New()
	open := httptest.NewServer(protocol)
	t.Cleanup(open.Close)
	e.of["github"] = loaded{func(i int) string {
		return fmt.Sprintf(`githubWorkflow: {server: '%s/api/v3', repository: acme/infra, workflow: run.yaml, ref: main, inputs: {size: "%d"}, auth: {tokenSecretRef: {name: servers, key: github}}}`, hub.URL, i)
	}, func() (all []string) {
		for _, r := range hub.Runs() {
			all = append(all, r.Inputs["size"])
		}
		return all
	}}
	e.of["gitlab"] = loaded{func(i int) string {
		return fmt.Sprintf(`gitlabPipeline: {server: '%s', project: acme/platform/infra, ref: main, variables: {SIZE: "%d"}, auth: {tokenSecretRef: {name: servers, key: gitlab}}}`, lab.URL, i)
	}, func() (all []string) {
		for _, p := range lab.Pipelines() {
			all = append(all, p.Variables["SIZE"])
		}
		return all
	}}
	e.of["http"] = loaded{func(i int) string {
		return fmt.Sprintf(`http: {url: '%s/databases', body: "%d", repeat: Never}`, e.host.URL, i)
	}, func() (all []string) {
		e.host.set(func() {
			for _, body := range e.host.runs {
				all = append(all, strings.Trim(body, `"`))
			}
		})
		return all
	}}
	e.of["external"] = loaded{func(i int) string {
		return fmt.Sprintf(`external: {url: '%s', inputs: {size: %d}}`, open.URL, i)
	}, func() (all []string) {
		for _, name := range protocol.Names() {
			all = append(all, strings.TrimPrefix(name, "a"))
		}
		return all
	}}
	e.of["job"] = loaded{func(i int) string { return e.template("count", fmt.Sprintf("'%d'", i)) },
		func() []string { return e.lines("job") }}
	e.of["terraform"] = loaded{func(i int) string {
		config := configuration("echo ${var.size} >> " + e.out + "/terraform")
		return fmt.Sprintf(`terraform: {image: "tofu:test", source: %s, vars: {size: "%d"}, template: {metadata: {annotations: {testcluster.pequod.io/run-from: %s}}}}`, inline(config), i, e.programs)
	}, func() []string { return e.lines("terraform") }}
	return e
}

// burst makes a number of Actions of some executors, while the program doesn't run.
func (e *burstEnv) burst(t *testing.T, count int, names ...string) {
	t.Helper()
	var all strings.Builder
	want := map[string][]string{}
	for i := range count {
		of := names[i%len(names)]
		want[of] = append(want[of], fmt.Sprint(i))
		fmt.Fprintf(&all, "apiVersion: platform.pequod.io/v1alpha1\nkind: Action\nmetadata: {name: a%d}\nspec:\n  serviceAccountName: runner\n  %s\n---\n", i, e.of[of].field(i))
	}
	p := installed.Prepare(t, e.Cluster, e.as, append([]string{"--allow-egress=127.0.0.0/8,http://127.0.0.1", "--runner-image=pequod-actions:test"}, withoutLease...)...)
	core := []string{"taskset", "-c", "0"}
	taskset, err := exec.LookPath(core[0])
	if err != nil {
		t.Fatal(err)
	}
	p.Cmd.Args = slices.Concat(core, []string{p.Cmd.Path}, p.Cmd.Args[1:])
	p.Cmd.Path, p.Cmd.Env = taskset, append(p.Cmd.Env, "GOMAXPROCS=1")
	p.Run(t)
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	p.Ready(t)
	for range 20 {
		busy := exec.Command(taskset, "-c", "0", "sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = busy.Process.Kill() // it runs
			_ = busy.Wait()         // it was killed
		})
	}
	signal(t, p, syscall.SIGSTOP)
	e.Apply(t, strings.TrimSuffix(all.String(), "---\n"))
	signal(t, p, syscall.SIGCONT)
	began := time.Now()
	_, cpu := usage(t, p)
	harness.Eventually(t, 20*time.Minute, func(ctx context.Context) error {
		time.Sleep(time.Second) // a list is work for the API server
		list, err := actions.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		begun := 0
		for _, a := range list.Items {
			if state, _, _ := unstructured.NestedString(a.Object, "status", "run", "state"); state != "" && state != "Intended" {
				begun++
			}
			if permanent, _, _ := unstructured.NestedBool(a.Object, "status", "run", "permanent"); permanent {
				t.Fatalf("%s: %v", a.GetName(), a.Object["status"])
			}
		}
		if begun < count {
			return fmt.Errorf("%d Actions have begun", begun)
		}
		return nil
	})
	_, end := usage(t, p)
	t.Logf("%d Actions of %v have begun after %s: %.1f ms of a core each", count, names, time.Since(began).Round(time.Second), (end-cpu)/float64(count)*1000)
	for of, want := range want {
		harness.Eventually(t, 20*time.Minute, func(context.Context) error {
			if n := len(e.of[of].ran()); n < len(want) {
				time.Sleep(time.Second)
				return fmt.Errorf("%s: %d of %d have run", of, n, len(want))
			}
			return nil
		})
		got := slices.Sorted(slices.Values(e.of[of].ran()))
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s: %d runs, want %d once each: %v", of, len(got), len(want), got)
		}
	}
}
