package github

import (
	_ "embed"
	"encoding/json"
	"maps"
	"sync"
)

// published is a part of GitHub's OpenAPI description, as it is in the npm package @octokit/openapi,
// without the descriptions of fields. The file has its version and its licence.
//
//go:embed testdata/description.json
var published []byte

// description is GitHub's description of operations, by their method and path.
type description struct {
	Operations map[string]struct {
		// Responses are by status codes.
		Responses map[string]struct {
			Example map[string]any
		}
	}
}

// The operations, below the prefix of the server.
const (
	ofActions        = "/repos/{owner}/{repo}/actions"
	opDispatch       = "POST " + ofActions + "/workflows/{workflow_id}/dispatches"
	opWorkflow       = "GET " + ofActions + "/workflows/{workflow_id}"
	opListRuns       = "GET " + ofActions + "/workflows/{workflow_id}/runs"
	opRun            = "GET " + ofActions + "/runs/{run_id}"
	opJobs           = "GET " + ofActions + "/runs/{run_id}/jobs"
	opArtifacts      = "GET " + ofActions + "/runs/{run_id}/artifacts"
	opCancel         = "POST " + ofActions + "/runs/{run_id}/cancel"
	opForceCancel    = "POST " + ofActions + "/runs/{run_id}/force-cancel"
	opInstallation   = "POST /app/installations/{installation_id}/access_tokens"
	fieldOfJobs      = "jobs"
	fieldOfArtifacts = "artifacts"
)

// examples returns GitHub's description.
var examples = sync.OnceValue(func() description {
	var d description
	if err := json.Unmarshal(published, &d); err != nil {
		panic(err) // can't happen: a test reads the file
	}
	return d
})

// example returns GitHub's example of a response, with other values. The caller may change its fields,
// but not what is in them.
func example(operation, status string, values map[string]any) map[string]any {
	v := maps.Clone(examples().Operations[operation].Responses[status].Example)
	maps.Copy(v, values)
	return v
}

// exampleItem is example for the first item of a list.
func exampleItem(operation, field string, values map[string]any) map[string]any {
	list, _ := example(operation, "200", nil)[field].([]any)
	v := maps.Clone(list[0].(map[string]any))
	maps.Copy(v, values)
	return v
}
