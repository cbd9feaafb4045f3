package github

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	host "github.com/pequod-io/pequod/test/hosts/github"
)

// secrets are the keys of one Secret.

type secrets map[string][]byte

func (s secrets) Secret(context.Context, string, string, string) (map[string][]byte, error) {
	return s, nil
}

// world is an executor with its server, which have the same clock.

type world struct {
	*host.Server
	e   *Executor
	mu  sync.Mutex
	now time.Time
	run executor.Run
}

// sleep sets the clock.

func (w *world) sleep(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// key is the private key of an App.

var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

const runKey = "5f0c1d2e3b4a59687786a5b4c3d2e1f0"

func deploy() host.Workflow {
	return host.Workflow{
		ID: 42, File: "deploy.yaml", Manual: true, Inputs: []string{"size", "key"}, Title: "deploy ${{ inputs.key }}", Conclusion: "success", Jobs: 1,
	}
}

func newWorld(t *testing.T, o host.Options, w host.Workflow) *world {
	t.Helper()
	x := &world{now: time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC)}
	o.Now = x.clock
	x.Server = host.New(t, o, w)
	allowed, err := egress.ParseAllowed([]string{"127.0.0.0/8", "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key())})
	x.e = New(executor.Server{Client: egress.New(egress.Options{Allowed: allowed}), Secrets: secrets{"token": []byte(host.Token), "wrong": []byte("wr0ng"), "app": private}})
	x.e.now = x.clock
	x.run = executor.Run{Namespace: "shop", Name: "db", Account: "runner", Key: runKey, IntentAt: x.now, Since: x.now, Request: v1alpha1.ActionExecutor{
		GitHubWorkflow: &v1alpha1.GitHubWorkflow{
			Server: x.URL + o.Prefix, Repository: host.Repository, Workflow: "deploy.yaml", Ref: "main", KeyInput: "key",
			Inputs: map[string]v1alpha1.RunnerInput{"size": "500"},
			Auth:   &v1alpha1.GitHubAuth{TokenSecretRef: &v1alpha1.SecretKeyRef{Name: "github", Key: "token"}},
		},
	}}
	return x
}

// posts returns the number of requests that dispatch.

func (w *world) posts() (n int) {
	for _, r := range w.Requests() {
		if strings.HasSuffix(r, "/dispatches") {
			n++
		}
	}
	return n
}

// begin begins the run, and records its ID.

func (w *world) begin(t *testing.T) *executor.Observation {
	t.Helper()
	o, err := w.e.Begin(t.Context(), w.run)
	if err != nil {
		t.Fatal(err)
	}
	w.run.ID = o.ID
	return o
}

// observe looks at the run.

func (w *world) observe(t *testing.T) *executor.Observation {
	t.Helper()
	o, err := w.e.Observe(t.Context(), w.run)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func class(err error) string {
	var known *executor.Error
	if !errors.As(err, &known) {
		return fmt.Sprint(err)
	}
	return []string{"unknown", "retry", "terminal", "lost", "later", "gone"}[known.Class]
}

// TestDispatch begins runs at servers that return their ID, that don't, and that refuse to be

// asked for it.

// TestFind looks for runs that may have begun, at a server that lists them late and among those of

// others.

// TestNameless has a workflow without the key in its name.

// TestStates follows a run, and takes each conclusion.

// TestErrors compares the classes of refusals, and when the request may be sent again.

// TestUnanswered loses the answer to a dispatch. Only a run with a key is begun again.

// TestMissing distinguishes a run that was deleted from one that the token has no right to.

// TestCancel cancels runs: one ends, one has ended, and one ends by force only.

// TestJobs reads the jobs of runs: at most 50 for the status, and none for expressions if there are more than 1,000.

// TestBusy reads a run that has ended while the program polls the server too often. Each look at it

// gets its turn, and the first one that does reads everything.

// archive returns a zip with one file.

// TestOutputs reads outputs at another host, which refuses the token, and refuses archives that are

// too large or not regular.

// TestNoArtifact has a run without the artifact that it should have.

// TestApp runs with tokens of an App: one token for many requests, another one after its end, and

// another one after it was revoked.

// TestCheck finds what is missing in a request, also if parts of it are taken over.
