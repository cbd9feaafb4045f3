package harness

import (
	"bytes"
	"context"
	"net/http"
	"testing"
)

// Probe is a request that a program sends as a user, by impersonation.
type Probe struct {
	As, Namespace, Group, Resource, Verb string
	// Named restricts the request to the object with the name [Probed].
	Named bool
}

// Probed is the name of the object that probes name.
const Probed = "web"

// Send sends the probe and returns the status code. Writes have bodies that no API server
// accepts, so they change nothing if they are allowed.
func (p Probe) Send(ctx context.Context, t testing.TB, client *http.Client, host string) int {
	t.Helper()
	path := host + "/api/v1"
	if p.Group != "" {
		path = host + "/apis/" + p.Group + "/v1"
	}
	if p.Namespace != "" {
		path += "/namespaces/" + p.Namespace
	}
	path += "/" + p.Resource
	method := map[string]string{
		"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH",
		"delete": "DELETE", "deletecollection": "DELETE",
	}[p.Verb]
	selects := p.Verb == "list" || p.Verb == "watch"
	if p.Named && !selects {
		path += "/" + Probed
	}
	path += "?dryRun=All"
	if p.Verb == "watch" {
		path += "&watch=true&timeoutSeconds=1"
	}
	if p.Named && selects {
		path += "&fieldSelector=metadata.name%3D" + Probed
	}
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader([]byte("{")))
	if err != nil {
		t.Fatal(err)
	}
	if method == "GET" {
		r.Body = nil
	}
	r.Header.Set("Content-Type", "application/json")
	if p.Verb == "patch" {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	r.Header.Set("Impersonate-User", p.As)
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}
