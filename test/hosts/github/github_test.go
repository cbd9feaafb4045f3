package github

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// clock is a clock that a test sets.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC)} }

// deploy is a workflow whose title has the key of the run.
func deploy() Workflow {
	return Workflow{
		ID: 42, File: "deploy.yaml", Manual: true, Inputs: []string{"size", "key"}, Title: "deploy ${{ inputs.key }}",
		Conclusion: "success", Jobs: 70, Artifacts: map[string][]byte{"outputs": []byte("PK")},
	}
}

// call sends a request, and returns the code, the headers and the JSON of the response.
func call(t *testing.T, method, url, token, body string, header ...string) (int, http.Header, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	// A server that is closed closes connections of the default transport.
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	_ = json.Unmarshal(data, &v) // some have no JSON
	return answer.StatusCode, answer.Header, v
}

const actions = "/repos/" + Repository + "/actions"

// TestRefusals compares the answers to requests that GitHub refuses.
func TestRefusals(t *testing.T) {
	t.Parallel()
	manual := deploy()
	automatic := Workflow{ID: 43, File: "ci.yaml"}
	s := New(t, Options{Mode: Old, Prefix: "/api/v3"}, manual, automatic)
	many := strings.TrimSuffix(strings.Repeat(`"i%d":"",`, 26), ",")
	var numbers []any
	for i := range 26 {
		numbers = append(numbers, i)
	}
	for _, c := range []struct {
		name, path, token, body string
		status                  int
		message                 string
	}{
		{"token", "/workflows/deploy.yaml/dispatches", "wrong", `{"ref":"main"}`, 401, "Bad credentials"},
		{"no token", "/workflows/deploy.yaml/dispatches", "", `{"ref":"main"}`, 404, "Not Found"},
		{"workflow", "/workflows/other.yaml/dispatches", Token, `{"ref":"main"}`, 404, "Not Found"},
		{"ref", "/workflows/42/dispatches", Token, `{"ref":"x"}`, 422, "No ref found for: x"},
		{"trigger", "/workflows/ci.yaml/dispatches", Token, `{"ref":"main"}`, 422, "Workflow does not have 'workflow_dispatch' trigger"},
		{"inputs", "/workflows/42/dispatches", Token, `{"ref":"main","inputs":{"b":"1","a":"2"}}`, 422, `Unexpected inputs provided: ["a", "b"]`},
		{"many", "/workflows/42/dispatches", Token, fmt.Sprintf(`{"ref":"main","inputs":{`+many+`}}`, numbers...), 422, "Invalid request.\n\nNo more than 25 properties are allowed; 26 were supplied."},
		{"old", "/workflows/42/dispatches", Token, `{"ref":"main","return_run_details":true}`, 400, "Invalid request.\n\n\"return_run_details\" is not a permitted key."},
		{"run", "/runs/1/cancel", Token, "", 404, "Not Found"},
	} {
		status, _, v := call(t, http.MethodPost, s.URL+"/api/v3"+actions+c.path, c.token, c.body)
		if status != c.status || v["message"] != c.message {
			t.Errorf("%s: %d %v", c.name, status, v)
		}
	}
	if status, _, _ := call(t, http.MethodPost, s.URL+"/api/v3/repos/acme/other/actions/workflows/42/dispatches", Token, `{"ref":"main"}`); status != 404 {
		t.Errorf("another repository: %d", status)
	}
	if got := s.Runs(); len(got) != 0 {
		t.Errorf("refused requests began %v", got)
	}
}

// TestRun leads a run from its dispatch to its end.
func TestRun(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := New(t, Options{Now: func() time.Time { return c.now }, Unlisted: 3 * time.Second, Queued: 5 * time.Second, Running: time.Minute, Foreign: 30}, deploy())
	status, _, begun := call(t, http.MethodPost, s.URL+actions+"/workflows/deploy.yaml/dispatches", Token, `{"ref":"main","inputs":{"key":"k1"},"return_run_details":true}`)
	id := fmt.Sprintf("%.0f", begun["workflow_run_id"])
	if status != 200 || id != "1031" || begun["run_url"] != s.URL+actions+"/runs/1031" || begun["html_url"] != "https://github.com/acme/infra/actions/runs/1031" {
		t.Fatalf("%d %v", status, begun)
	}
	list := s.URL + actions + "/workflows/42/runs?event=workflow_dispatch&branch=main&created=%3E%3D2026-03-01T12:00:00Z"
	if _, _, v := call(t, http.MethodGet, list, Token, ""); v["total_count"] != 0.0 {
		t.Errorf("listed at once: %v", v)
	}
	run := s.URL + actions + "/runs/" + id
	for _, want := range []string{"queued <nil>", "in_progress <nil>", "completed success"} {
		if _, _, v := call(t, http.MethodGet, run, Token, ""); fmt.Sprint(v["status"], " ", v["conclusion"]) != want || v["display_title"] != "deploy k1" {
			t.Errorf("want %s: %v", want, v)
		}
		c.now = c.now.Add(34 * time.Second)
	}
	// The 61 runs fill three pages, newest first.
	var titles []string
	for at := list; at != ""; {
		_, header, v := call(t, http.MethodGet, at, Token, "")
		for _, r := range v["workflow_runs"].([]any) {
			titles = append(titles, r.(map[string]any)["display_title"].(string))
		}
		at, _, _ = strings.Cut(strings.TrimPrefix(header.Get("Link"), "<"), ">")
	}
	if len(titles) != 61 || titles[30] != "deploy k1" || titles[29] != "deploy " {
		t.Errorf("%d runs: %v", len(titles), titles)
	}
	if _, _, v := call(t, http.MethodGet, strings.Replace(list, "12:00:00", "12:00:01", 1), Token, ""); v["total_count"] != 0.0 {
		t.Errorf("runs of an earlier second: %v", v)
	}
	_, header, _ := call(t, http.MethodGet, run, Token, "")
	if status, _, _ := call(t, http.MethodGet, run, Token, "", "If-None-Match", header.Get("ETag")); status != 304 {
		t.Errorf("unchanged: %d", status)
	}
	if status, _, _ := call(t, http.MethodPost, run+"/cancel", Token, ""); status != 409 {
		t.Errorf("cancelled after its end: %d", status)
	}
	if _, _, v := call(t, http.MethodGet, run+"/jobs?per_page=100", Token, ""); len(v["jobs"].([]any)) != 70 {
		t.Errorf("jobs: %v", v)
	}
}

// TestArtifact downloads an artifact, which is at another host that refuses the token.
func TestArtifact(t *testing.T) {
	t.Parallel()
	s := New(t, Options{}, deploy())
	call(t, http.MethodPost, s.URL+actions+"/workflows/42/dispatches", Token, `{"ref":"main"}`)
	_, _, v := call(t, http.MethodGet, s.URL+actions+"/runs/1001/artifacts?name=outputs", Token, "")
	at := v["artifacts"].([]any)[0].(map[string]any)["archive_download_url"].(string)
	status, header, _ := call(t, http.MethodGet, at, Token, "")
	to := header.Get("Location")
	if status != 302 || strings.HasPrefix(to, s.URL) {
		t.Fatalf("%d %s", status, to)
	}
	if status, _, _ := call(t, http.MethodGet, to, Token, ""); status != 400 {
		t.Errorf("with a token: %d", status)
	}
	if status, _, _ := call(t, http.MethodGet, to, "", ""); status != 200 {
		t.Errorf("without a token: %d", status)
	}
}

// TestCancel cancels a run, which ends later.
func TestCancel(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := New(t, Options{Mode: NoDetails, Now: func() time.Time { return c.now }, Queued: time.Minute}, deploy())
	status, _, _ := call(t, http.MethodPost, s.URL+actions+"/workflows/42/dispatches", Token, `{"ref":"main","return_run_details":true}`)
	if got := fmt.Sprint(s.Requests()); status != 204 || got != "[POST "+actions+"/workflows/42/dispatches]" {
		t.Errorf("dispatched: %d, after %s", status, got)
	}
	for _, verb := range []string{"/cancel", "/force-cancel"} {
		if status, _, _ := call(t, http.MethodPost, s.URL+actions+"/runs/1001"+verb, Token, ""); status != 202 {
			t.Errorf("%s: %d", verb, status)
		}
	}
	for _, want := range []any{nil, "cancelled"} {
		if _, _, v := call(t, http.MethodGet, s.URL+actions+"/runs/1001", Token, ""); v["conclusion"] != want {
			t.Errorf("want %v: %v", want, v)
		}
		c.now = c.now.Add(time.Second)
	}
}

// TestLimits compares the headers of refusals by rate limits.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := New(t, Options{}, deploy())
	for limit, want := range map[Limit]string{NoLimit: "200 4999 ", Primary: "403 0 ", Secondary: "403 4999 60", SecondaryUndeclared: "403 4999 "} {
		s.SetLimit(limit)
		status, header, v := call(t, http.MethodGet, s.URL+actions+"/workflows/42/runs", Token, "")
		if got := fmt.Sprint(status, " ", header.Get("X-RateLimit-Remaining"), " ", header.Get("Retry-After")); got != want {
			t.Errorf("limit %d: %s: %v", limit, got, v)
		}
	}
}

// sign returns a JWT of an App, with the times from now at which it was issued and expires.
func sign(t *testing.T, key *rsa.PrivateKey, now time.Time, iss string, iat, exp time.Duration) string {
	t.Helper()
	part := func(v any) string {
		data, _ := json.Marshal(v) // a map of strings and numbers
		return base64.RawURLEncoding.EncodeToString(data)
	}
	text := part(map[string]string{"alg": "RS256"}) + "." + part(map[string]any{"iss": iss, "iat": now.Add(iat).Unix(), "exp": now.Add(exp).Unix()})
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// TestApp gets a token of an installation, and uses it until it expires.
func TestApp(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	c := newClock()
	s := New(t, Options{Now: func() time.Time { return c.now }, AppID: "123", AppKey: &key.PublicKey}, deploy())
	sign := func(iss string, iat, exp time.Duration) string { return sign(t, key, c.now, iss, iat, exp) }
	at := s.URL + "/app/installations/7/access_tokens"
	good := sign("123", -time.Minute, 9*time.Minute)
	for name, jwt := range map[string]string{
		"issuer": sign("124", 0, time.Minute), "future": sign("123", time.Minute, 2*time.Minute), "expired": sign("123", -time.Hour, -time.Minute),
		"long": sign("123", 0, 11*time.Minute), "none": "", "changed": good[:len(good)-4] + "AAAA",
	} {
		if status, _, v := call(t, http.MethodPost, at, jwt, ""); status != 401 {
			t.Errorf("%s: %d %v", name, status, v)
		}
	}
	status, _, v := call(t, http.MethodPost, at, good, "")
	if status != 201 || v["expires_at"] != "2026-03-01T13:00:00Z" {
		t.Fatalf("%d %v", status, v)
	}
	s.Revoke(Token)
	if status, _, _ := call(t, http.MethodGet, s.URL+actions+"/workflows/42/runs", Token, ""); status != 401 {
		t.Errorf("revoked: %d", status)
	}
	for _, want := range []int{200, 401} {
		if status, _, _ := call(t, http.MethodGet, s.URL+actions+"/workflows/42/runs", v["token"].(string), ""); status != want {
			t.Errorf("%d, want %d", status, want)
		}
		c.now = c.now.Add(61 * time.Minute)
	}
}
