package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/github"
	"github.com/pequod-io/pequod/test/hosts/gitlab"
)

// newGitLab installs the program, and starts a server.
func newGitLab(t *testing.T, o gitlab.Options) (*env, *gitlab.Server, *hooks) {
	t.Helper()
	h := &hooks{before: func() bool { return true }, after: func() {}}
	o.Before = func() bool { before, _ := h.calls(); return before() }
	o.After = func() { _, after := h.calls(); after() }
	o.Files = map[string]string{"outputs.json": `{"endpoint": "db-1"}`}
	s := gitlab.New(t, o)
	e := newEnv(t)
	e.Apply(t, strings.Replace(readSecrets, "{token: "+github.Token+"}", "{token: "+gitlab.Token+", trigger: "+gitlab.Trigger+"}", 1))
	return e, s, h
}

// pipeline applies an Action with a pipeline of the server, and more fields of its spec.
func (e *env) pipeline(t *testing.T, s *gitlab.Server, name, size, more string) {
	t.Helper()
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: %s}
spec:
  serviceAccountName: runner
  gitlabPipeline:
    server: %s
    project: acme/platform/infra
    ref: main
    variables: {SIZE: "%s"}
    auth: {tokenSecretRef: {name: github, key: token}, triggerTokenSecretRef: {name: github, key: trigger}}
    outputsFrom: {job: terraform, path: outputs.json}
  outputs: {endpoint: run.outputs.endpoint}
%s`, name, s.URL, size, more))
}

// created returns the sizes of the pipelines, and the purposes of those that have one.
func created(s *gitlab.Server) string {
	var all []string
	for _, p := range s.Pipelines() {
		all = append(all, p.Variables["SIZE"]+p.Variables["PURPOSE"])
	}
	return strings.Join(all, " ")
}

// TestPipeline creates a pipeline once, although the program restarts, again when its variables
// change, and undoes it.
func TestPipeline(t *testing.T) {
	t.Parallel()
	e, s, _ := newGitLab(t, gitlab.Options{Stages: []string{"pending", "running"}, Stage: 300 * time.Millisecond, Child: "success", Foreign: 2})
	p := e.run(t)
	const destroy = "  destroy: {gitlabPipeline: {variables: {PURPOSE: destroy}}}"
	e.pipeline(t, s, "db", "1", destroy)
	e.status(t, "db", reason("RunSucceeded"))
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p = e.run(t)
	p.Ready(t)
	time.Sleep(2 * time.Second)
	if got := created(s); got != "1" {
		t.Errorf("after a restart: %s", got)
	}
	for i := range 4 { // quickly to others and back
		e.pipeline(t, s, "db", fmt.Sprint(2+i%2), destroy+"\n  onChangeWhileRunning: Cancel")
		time.Sleep(100 * time.Millisecond)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if got := created(s); !strings.HasSuffix(got, "3") {
			return errors.New(got)
		}
		return nil
	})
	e.status(t, "db", reason("RunSucceeded"))
	a := e.Get(t, "platform.pequod.io/v1alpha1", "Action", "db")
	e.gone(t, "db")
	if got := created(s); !strings.HasSuffix(got, "3 destroy") || s.MostOpen() != 1 {
		t.Errorf("pipelines: %s, and %d were open at once", got, s.MostOpen())
	}
	for name, text := range map[string]string{"the Action": fmt.Sprint(a.Object), "the log": p.Log.String()} {
		if strings.Contains(text, gitlab.Token) || strings.Contains(text, gitlab.Trigger) || strings.Contains(text, "Signature") {
			t.Errorf("%s has credentials", name)
		}
	}
}

// TestPipelineKilledOnce kills the program with -9 while it creates pipelines: before GitLab has the
// request, and before the answer. GitLab counts one pipeline per key.
func TestPipelineKilledOnce(t *testing.T) {
	t.Parallel()
	e, s, h := newGitLab(t, gitlab.Options{Stages: []string{"running"}, Stage: 300 * time.Millisecond, Foreign: 2})
	p := e.run(t, withoutLease...)
	for i := range 4 {
		killed := make(chan struct{}, 1)
		kill := func() bool {
			select {
			case killed <- struct{}{}:
				_ = p.Cmd.Process.Kill() // it runs
				return false
			default:
				return true
			}
		}
		if i == 0 {
			h.set(kill, func() {}) // GitLab never gets the request
		} else {
			h.set(func() bool { return true }, func() { kill() })
		}
		action := fmt.Sprintf("a%d", i)
		e.pipeline(t, s, action, fmt.Sprint(i), "")
		<-p.Done
		h.set(func() bool { return true }, func() {})
		p = e.run(t, withoutLease...)
		e.status(t, action, reason("RunSucceeded"))
	}
	if got := created(s); got != "0 1 2 3" {
		t.Errorf("pipelines: %s", got)
	}
}
