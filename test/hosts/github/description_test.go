package github

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// nullable rewrites what OpenAPI 3.0 has beside JSON Schema: fields that may be null.
func nullable(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = nullable(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = nullable(v[name])
		}
		if v["nullable"] != true {
			return v
		}
		delete(v, "nullable")
		return map[string]any{"anyOf": []any{v, map[string]any{"type": "null"}}}
	}
	return v
}

// schemas compiles the schemas of GitHub's description.
func schemas(t *testing.T) func(operation, part string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(published))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("https://example.com/github.json", nullable(doc)); err != nil {
		t.Fatal(err)
	}
	return func(operation, part string) *jsonschema.Schema {
		t.Helper()
		pointer := "/operations/" + strings.ReplaceAll(operation, "/", "~1") + "/" + part
		s, err := c.Compile("https://example.com/github.json#" + (&url.URL{Path: pointer}).EscapedPath())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// TestDescription compares the answers with GitHub's published description: of all operations, and of
// runs in all of their states.
func TestDescription(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	c := newClock()
	s := New(t, Options{Now: func() time.Time { return c.now }, Queued: time.Minute, Waiting: time.Minute, Running: time.Minute, AppID: "123", AppKey: &key.PublicKey}, deploy())
	schema := schemas(t)
	check := func(operation string, status int, path, token, body string) {
		t.Helper()
		method, _, _ := strings.Cut(operation, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != status {
			t.Fatalf("%s: %d %s: %v", operation, response.StatusCode, text, err)
		}
		if status == http.StatusNoContent {
			if len(text) > 0 {
				t.Errorf("%s: body %s", operation, text)
			}
			return
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema(operation, fmt.Sprintf("responses/%d/schema", status)).Validate(value); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}
	const run = actions + "/runs/1001"
	check(opDispatch, 200, actions+"/workflows/42/dispatches", Token, `{"ref":"main","inputs":{"key":"k1"},"return_run_details":true}`)
	check(opDispatch, 204, actions+"/workflows/42/dispatches", Token, `{"ref":"main"}`)
	check(opWorkflow, 200, actions+"/workflows/deploy.yaml", Token, "")
	for range 4 { // queued, waiting, in progress and completed
		check(opListRuns, 200, actions+"/workflows/42/runs?event=workflow_dispatch", Token, "")
		check(opRun, 200, run, Token, "")
		check(opJobs, 200, run+"/jobs", Token, "")
		check(opArtifacts, 200, run+"/artifacts", Token, "")
		c.now = c.now.Add(time.Minute)
	}
	check(opCancel, 409, run+"/cancel", Token, "")
	check(opForceCancel, 409, run+"/force-cancel", Token, "")
	check(opDispatch, 204, actions+"/workflows/42/dispatches", Token, `{"ref":"main"}`)
	check(opCancel, 202, actions+"/runs/1003/cancel", Token, "")
	check(opForceCancel, 202, actions+"/runs/1003/force-cancel", Token, "")
	c.now = c.now.Add(time.Minute)
	check(opRun, 200, actions+"/runs/1003", Token, "")
	check(opInstallation, 401, "/app/installations/7/access_tokens", "wrong", "")
	check(opInstallation, 201, "/app/installations/7/access_tokens", sign(t, key, c.now, "123", 0, time.Minute), "")
	// The schemas refuse what isn't theirs.
	var wrong any = map[string]any{"id": "1001", "status": "completed"}
	if err := schema(opRun, "responses/200/schema").Validate(wrong); err == nil {
		t.Error("a run without most of its fields is accepted")
	}
}
