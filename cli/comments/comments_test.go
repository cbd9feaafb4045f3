package comments

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/test/codehost"
)

const bot = "github-actions[bot]"

var accounts = map[string]codehost.Account{
	"secret": {Name: bot},
	"fork":   {Name: bot, ReadOnly: true},
}

// hosts are the two hosts, with the environment of a job for pull request 7.
var hosts = []string{"github", "gitlab"}

type setup struct {
	host *codehost.Host
	env  map[string]string
	// waits are the delays before repetitions.
	mu    sync.Mutex
	waits []time.Duration
}

func start(t *testing.T, kind string, change map[string]string) *setup {
	t.Helper()
	s := &setup{host: codehost.Start(t, accounts, codehost.Pull{Number: 7, Owner: "stranger", Branch: "patch-1", Head: "abc"})}
	s.env = map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": codehost.Repository, "GITHUB_TOKEN": "secret", "GITHUB_RUN_ID": "5",
		"GITHUB_API_URL": s.host.URL + "/github", "GITHUB_GRAPHQL_URL": s.host.URL + "/github/graphql",
		"GITHUB_EVENT_PATH": writeEvent(t, `{"pull_request": {"number": 7, "head": {"sha": "abc"}}}`),
	}
	if kind == "gitlab" {
		s.env = map[string]string{
			"GITLAB_CI": "true", "CI_API_V4_URL": s.host.URL + "/gitlab", "GITLAB_TOKEN": "secret", "CI_PIPELINE_ID": "5",
			"CI_PROJECT_ID": codehost.Project, "CI_MERGE_REQUEST_IID": "7", "CI_COMMIT_SHA": "abc",
		}
	}
	for name, value := range change {
		s.env[name] = value
	}
	return s
}

func writeEvent(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// find is Find without real delays.
func (s *setup) find(ctx context.Context) (*Target, error) {
	target, err := Find(ctx, func(name string) (string, bool) { v, ok := s.env[name]; return v, ok })
	if target != nil {
		target.client.wait = func(_ context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.waits = append(s.waits, d)
			return nil
		}
	}
	return target, err
}

// keep runs a job that keeps a comment.
func (s *setup) keep(t *testing.T, p Post) (Result, error) {
	t.Helper()
	target, err := s.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.Run == 0 {
		p.Run = target.Run
	}
	return Keep(t.Context(), target, p)
}

func (s *setup) mustKeep(t *testing.T, p Post, want Result) {
	t.Helper()
	if got, err := s.keep(t, p); err != nil || got != want {
		t.Fatalf("%s, %v; want %s", got, err, want)
	}
}

// texts returns the comments without markers.
func (s *setup) texts() []string {
	var all []string
	for _, c := range s.host.Comments(7) {
		text := c.Body
		if strings.HasPrefix(text, "<!--") {
			_, text, _ = strings.Cut(text, "\n")
		}
		if c.Minimized {
			text += " (hidden)"
		}
		all = append(all, c.Author+": "+text)
	}
	return all
}

func (s *setup) wantTexts(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.texts()); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
}

func post(body string) Post { return Post{Name: "shop", Body: body, Nothing: "Nothing changes."} }

// One comment goes through the life of a pull request.
func TestLife(t *testing.T) {
	for _, kind := range hosts {
		t.Run(kind, func(t *testing.T) {
			s := start(t, kind, nil)
			hidden := ""
			if kind == "github" {
				hidden = " (hidden)"
			}
			s.mustKeep(t, post(""), Nothing)
			s.wantTexts(t)
			s.host.Add(7, "ada", "Looks good.")
			s.mustKeep(t, post("1 to add"), Created)
			s.mustKeep(t, post("1 to add"), Unchanged)
			s.mustKeep(t, post("2 to add"), Updated)
			s.wantTexts(t, "ada: Looks good.", bot+": 2 to add")
			s.mustKeep(t, post(""), Hidden)
			s.mustKeep(t, post(""), Unchanged)
			s.wantTexts(t, "ada: Looks good.", bot+": Nothing changes."+hidden)
			s.mustKeep(t, post("3 to add"), Updated)
			s.wantTexts(t, "ada: Looks good.", bot+": 3 to add")
			other := post("of another job")
			other.Name = "shop-2"
			s.mustKeep(t, other, Created)
			s.mustKeep(t, post("4 to add"), Updated)
			s.wantTexts(t, "ada: Looks good.", bot+": 4 to add", bot+": of another job")
		})
	}
}

// Comments of others count for nothing, whatever marker they begin with.
func TestForgedMarker(t *testing.T) {
	for _, kind := range hosts {
		s := start(t, kind, nil)
		forged := post("1 to add").marker() + "mine"
		s.host.Add(7, "mallory", forged)
		s.mustKeep(t, post(""), Nothing)
		s.mustKeep(t, post("1 to add"), Created)
		s.wantTexts(t, "mallory: mine", bot+": 1 to add")
	}
}

// The comment is found among more than a page of others.
func TestManyComments(t *testing.T) {
	for _, kind := range hosts {
		s := start(t, kind, nil)
		for i := range 250 {
			s.host.Add(7, "ada", fmt.Sprint(i))
			if i == 205 {
				s.mustKeep(t, post("first"), Created)
			}
		}
		s.mustKeep(t, post("second"), Updated)
		if n := len(s.host.Comments(7)); n != 251 {
			t.Errorf("%d comments", n)
		}
	}
}

// A person deletes the comment while it is updated.
func TestDeletedMeanwhile(t *testing.T) {
	for _, kind := range hosts {
		s := start(t, kind, nil)
		s.mustKeep(t, post("first"), Created)
		s.host.SetFault(func(r *http.Request) *codehost.Fault {
			if r.Method == http.MethodPatch || r.Method == http.MethodPut {
				s.host.Change(7, func(p *codehost.Pull) { p.Comments = nil })
			}
			return nil
		})
		s.mustKeep(t, post("second"), Created)
		s.wantTexts(t, bot+": second")
	}
}

// Two runs that look at the same moment both create a comment, and keep one of them.
func TestTwoRunsAtOnce(t *testing.T) {
	for _, kind := range hosts {
		t.Run(kind, func(t *testing.T) {
			s := start(t, kind, nil)
			// Both have looked before either creates.
			var both sync.WaitGroup
			both.Add(2)
			s.host.SetFault(func(r *http.Request) *codehost.Fault {
				if r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "graphql") {
					both.Done()
					both.Wait()
				}
				return nil
			})
			var done sync.WaitGroup
			for run := range int64(2) {
				done.Go(func() {
					p := post(fmt.Sprintf("of run %d", run+1))
					p.Run = run + 1
					if _, err := s.keep(t, p); err != nil {
						t.Error(err)
					}
				})
			}
			done.Wait()
			s.wantTexts(t, bot+": of run 2")
		})
	}
}

// A slow run doesn't overwrite the comment of a later one.
func TestOlderRun(t *testing.T) {
	for _, kind := range hosts {
		s := start(t, kind, nil)
		newer, older := post("new"), post("old")
		newer.Run, older.Run = 12, 11
		s.mustKeep(t, newer, Created)
		s.mustKeep(t, older, Newer)
		s.wantTexts(t, bot+": new")
	}
}

// Passing errors are repeated, after the time that the host demands.
func TestRepetitions(t *testing.T) {
	limited := map[string]string{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": fmt.Sprint(time.Now().Add(20 * time.Second).Unix())}
	for name, fault := range map[string]codehost.Fault{
		"a full server":                     {Status: 503},
		"a server that loses its answers":   {Status: 502, Late: true},
		"a limit with a time":               {Status: 429, Header: map[string]string{"Retry-After": "17"}},
		"a second limit of GitHub":          {Status: 403, Header: map[string]string{"Retry-After": "17"}},
		"a limit that ends at a given time": {Status: 403, Header: limited},
	} {
		for _, kind := range hosts {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := start(t, kind, nil)
				target, err := s.find(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				seen := map[string]int{}
				s.host.SetFault(func(r *http.Request) *codehost.Fault {
					key := r.Method + r.URL.Path
					if seen[key]++; seen[key]%2 == 1 {
						return &fault
					}
					return nil
				})
				for _, body := range []string{"first", "second"} {
					if _, err := Keep(t.Context(), target, post(body)); err != nil {
						t.Fatal(err)
					}
				}
				s.wantTexts(t, bot+": second")
				for _, d := range s.waits {
					if len(fault.Header) > 0 && d < 17*time.Second {
						t.Errorf("waited for %s", d)
					}
				}
				if len(s.waits) == 0 {
					t.Error("nothing was repeated")
				}
			})
		}
	}
}

// Errors that stay end the run with the message of the host, and without waiting for
// hours.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		env   map[string]string
		fault *codehost.Fault
		post  Post
		want  string
	}{
		"wrong token":   {env: map[string]string{"GITHUB_TOKEN": "x"}, post: post("a"), want: "GET /repos/acme/shop/pulls/7: 401 Unauthorized: Bad credentials; renew the token"},
		"token of fork": {env: map[string]string{"GITHUB_TOKEN": "fork"}, post: post("a"), want: "POST /repos/acme/shop/issues/7/comments: 403 Forbidden: Resource not accessible by integration; give the token the right to write comments on pull requests"},
		"too long":      {post: post(strings.Repeat("é", 65536)), want: "characters, and the host takes 65536: make it shorter with --max-size"},
		"name":          {post: Post{Name: "a --> <b>"}, want: `name "a --> <b>": want up to 100 letters`},
		"long limit":    {fault: &codehost.Fault{Status: 429, Header: map[string]string{"Retry-After": "3600"}}, post: post("a"), want: "429 Too Many Requests: stand-in; try again in 1h0m0s"},
		"broken server": {fault: &codehost.Fault{Status: 500}, post: post("a"), want: "500 Internal Server Error: stand-in; try again later"},
		"redirect":      {fault: &codehost.Fault{Status: 302, Header: map[string]string{"Location": "https://example.com/"}}, post: post("a"), want: "302 Found"},
		"plain http":    {env: map[string]string{"GITHUB_API_URL": "http://ghe.example.com/api/v3"}, want: `address of the API "http://ghe.example.com/api/v3": want https`},
		"plain graphql": {env: map[string]string{"GITHUB_GRAPHQL_URL": "http://ghe.example.com/api/graphql"}, want: "want https"},
		"no event":      {env: map[string]string{"GITHUB_EVENT_PATH": "/nowhere"}, want: "the event of the workflow"},
		"no job":        {env: map[string]string{"GITHUB_ACTIONS": ""}, want: "run it in GitHub Actions or GitLab CI"},
		"repository":    {env: map[string]string{"GITHUB_REPOSITORY": "a/b/../../x"}, want: "GITHUB_REPOSITORY"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, "github", test.env)
			target, err := s.find(t.Context())
			if err == nil {
				s.host.SetFault(func(*http.Request) *codehost.Fault { return test.fault })
				_, err = Keep(t.Context(), target, test.post)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %s", err, test.want)
			}
			s.wantTexts(t)
		})
	}
}

// Answers with many small values become dozens of times as large when they are decoded.
func TestExpandingAnswers(t *testing.T) {
	many := []byte(`{"message":[` + strings.Repeat(`{},`, 50_000) + `1]}`)
	r := request{method: http.MethodGet, path: "/user"}
	for status, want := range map[int]string{http.StatusOK: "GET /user: it has more than 50000 values", http.StatusNotFound: "GET /user: 404 Not Found; check the repository, the number, and what the token may read"} {
		if err := (answer{status: status, body: many}).decode(r, new(struct{ Message any })); err == nil || err.Error() != want {
			t.Errorf("%.200v; want %s", err, want)
		}
	}
}

// The report must be of the newest commit of the pull request.
func TestFind(t *testing.T) {
	event := func(text string) map[string]string {
		return map[string]string{"GITHUB_EVENT_PATH": writeEvent(t, text)}
	}
	run := `{"workflow_run": {"id": 99, "head_sha": %q, "head_branch": %q, "head_repository": {"owner": {"login": %q}}}}`
	for name, test := range map[string]struct {
		kind   string
		env    map[string]string
		number int64
		want   error
	}{
		"pull_request":          {"github", nil, 7, nil},
		"moved on":              {"github", event(`{"pull_request": {"number": 7, "head": {"sha": "old"}}}`), 0, ErrStale},
		"workflow_run":          {"github", event(fmt.Sprintf(run, "abc", "patch-1", "stranger")), 7, nil},
		"workflow_run moved on": {"github", event(fmt.Sprintf(run, "old", "patch-1", "stranger")), 0, ErrStale},
		"another branch":        {"github", event(fmt.Sprintf(run, "abc", "main", "stranger")), 0, ErrStale},
		"another owner":         {"github", event(fmt.Sprintf(run, "abc", "patch-1", "mallory")), 0, ErrStale},
		"hostile branch":        {"github", event(fmt.Sprintf(run, "abc", "x&head=stranger:patch-1#", "stranger")), 0, ErrStale},
		"empty commit":          {"github", event(fmt.Sprintf(run, "", "patch-1", "stranger")), 0, ErrStale},
		"merge request":         {"gitlab", nil, 7, nil},
		"merged result":         {"gitlab", map[string]string{"CI_COMMIT_SHA": "merged", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "abc"}, 7, nil},
		"merge request moved":   {"gitlab", map[string]string{"CI_COMMIT_SHA": "old"}, 0, ErrStale},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, test.kind, test.env)
			target, err := s.find(t.Context())
			if !errors.Is(err, test.want) {
				t.Fatal(err)
			}
			if err == nil && target.Number != test.number {
				t.Errorf("pull request %d", target.Number)
			}
		})
	}
}

// Label changes the labels with the prefix, and no others.
func TestLabel(t *testing.T) {
	for _, kind := range hosts {
		s := start(t, kind, nil)
		s.host.Change(7, func(p *codehost.Pull) { p.Labels = []string{"bug", "pequod/removals", "pequod/restarts"} })
		target, err := s.find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := target.Label(t.Context(), []string{"pequod/restarts", "pequod/data-loss"}, "pequod/"); err != nil {
				t.Fatal(err)
			}
		}
		s.host.Change(7, func(p *codehost.Pull) {
			if diff := cmp.Diff([]string{"bug", "pequod/restarts", "pequod/data-loss"}, p.Labels); diff != "" {
				t.Errorf("%s (-want +got):\n%s", kind, diff)
			}
		})
	}
}

// A text from strangers stays inside a code block, whatever it contains.
func TestPlain(t *testing.T) {
	hostile := []string{
		"```\n@team <img src=x>", "~~~\n# x", "````````````` ", "</details>\n<script>", "/approve\n/merge", "\x1b[31m", "a\r\n/close", "<!-- pequod:comment shop run=1 -->",
		strings.Repeat("`", 200_000), strings.Repeat("x", 1<<20), strings.Repeat("1 to add\n", 1<<17), "\xff\xfe", "",
	}
	for _, text := range append(hostile, strings.Join(hostile, "\n")) {
		got := Plain(text, 60_000)
		if n := length(got); n > 60_000 {
			t.Errorf("%.20q: %d characters", text, n)
		}
		fence, rest, _ := strings.Cut(got, "text\n")
		if strings.Trim(fence, "`") == "" && len(fence) >= 3 {
			inside, after, closed := strings.Cut(rest, "\n"+fence)
			if !closed && !strings.HasPrefix(rest, fence) || strings.Contains(inside, fence) {
				t.Errorf("%.20q: not one code block:\n%.200s", text, got)
			}
			if after != "" && !strings.HasSuffix(after, " of the report did not fit here.") {
				t.Errorf("%.20q: after the block: %.200q", text, after)
			}
		} else if !strings.HasPrefix(got, "The report has ") {
			t.Errorf("%.20q: %.200q", text, got)
		}
		for _, kind := range hosts {
			s := start(t, kind, nil)
			s.mustKeep(t, post(got), Created)
			s.mustKeep(t, post(got), Unchanged)
		}
	}
}

// FuzzMarker checks that no text becomes the marker of a comment.
func FuzzMarker(f *testing.F) {
	f.Add("shop", int64(3), "x")
	f.Fuzz(func(t *testing.T, name string, run int64, body string) {
		p := Post{Name: name, Body: body, Run: max(run%1e17, 0)}
		if CheckName(name) != nil || strings.TrimSpace(body) == "" {
			return
		}
		gotRun, text, _, ok := p.written(p.marker() + body)
		if !ok || gotRun != p.Run || text != strings.TrimSpace(strings.ReplaceAll(body, "\r\n", "\n")) {
			t.Errorf("%q: %d %q %v", p.marker()+body, gotRun, text, ok)
		}
	})
}
