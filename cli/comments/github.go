package comments

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// pageSize is the number of items of a page, which both hosts allow.
const pageSize = 100

// github has the comments of a pull request on GitHub. Comments are those of the
// conversation, which GitHub keeps with issues.
type github struct {
	client *client
	// graphQL is the address of the other API, which alone can hide comments and
	// knows the account of a token of GitHub Actions.
	graphQL string
	// repo is OWNER/NAME.
	repo   string
	number int64
}

// Limit implements Host: https://docs.github.com/rest/issues/comments refuses a body of
// more than 65,536 characters.
func (*github) Limit() int { return 65536 }

// Literal implements Host. GitHub has no commands in comments.
func (*github) Literal(markdown string) string { return markdown }

func (g *github) path(format string, args ...any) string {
	return "/repos/" + g.repo + fmt.Sprintf(format, args...)
}

// Own implements Host.
func (g *github) Own(ctx context.Context) ([]Comment, error) {
	var who struct{ Viewer struct{ Login string } }
	if err := g.query(ctx, "query{viewer{login}}", nil, &who); err != nil {
		return nil, err
	}
	var own []Comment
	for page := 1; ; page++ {
		var items []struct {
			ID      int64
			NodeID  string `json:"node_id"`
			Body    string
			HTMLURL string `json:"html_url"`
			User    struct{ Login string }
		}
		path := g.path("/issues/%d/comments?per_page=%d&page=%d", g.number, pageSize, page)
		if err := g.client.do(ctx, request{method: http.MethodGet, path: path}, &items); err != nil {
			return nil, err
		}
		for _, c := range items {
			if c.User.Login == who.Viewer.Login && c.User.Login != "" {
				own = append(own, Comment{ID: c.ID, Node: c.NodeID, Body: c.Body, URL: c.HTMLURL})
			}
		}
		if len(items) < pageSize {
			return own, nil
		}
	}
}

// Create implements Host.
func (g *github) Create(ctx context.Context, body string) error {
	path := g.path("/issues/%d/comments", g.number)
	return g.client.do(ctx, request{method: http.MethodPost, path: path, body: map[string]string{"body": body}, once: true}, nil)
}

// Update implements Host.
func (g *github) Update(ctx context.Context, c Comment, body string) error {
	path := g.path("/issues/comments/%d", c.ID)
	return gone(g.client.do(ctx, request{method: http.MethodPatch, path: path, body: map[string]string{"body": body}}, nil))
}

// Delete implements Host.
func (g *github) Delete(ctx context.Context, c Comment) error {
	return gone(g.client.do(ctx, request{method: http.MethodDelete, path: g.path("/issues/comments/%d", c.ID)}, nil))
}

// Hide implements Host.
func (g *github) Hide(ctx context.Context, c Comment, hidden bool) error {
	query := "mutation($id:ID!){unminimizeComment(input:{subjectId:$id}){unminimizedComment{isMinimized}}}"
	if hidden {
		query = "mutation($id:ID!){minimizeComment(input:{subjectId:$id,classifier:OUTDATED}){minimizedComment{isMinimized}}}"
	}
	return g.query(ctx, query, map[string]string{"id": c.Node}, nil)
}

// query sends a GraphQL request. Errors come with the status 200.
func (g *github) query(ctx context.Context, query string, variables map[string]string, into any) error {
	answer := struct {
		Data   any
		Errors []struct{ Type, Message string }
	}{Data: into}
	body := map[string]any{"query": query, "variables": variables}
	if err := g.client.do(ctx, request{method: http.MethodPost, path: g.graphQL, body: body}, &answer); err != nil {
		return err
	}
	if len(answer.Errors) == 0 {
		return nil
	}
	if slices.ContainsFunc(answer.Errors, func(e struct{ Type, Message string }) bool { return e.Type == "NOT_FOUND" }) {
		return ErrGone
	}
	return &statusError{method: http.MethodPost, path: g.graphQL, status: http.StatusUnprocessableEntity, message: answer.Errors[0].Message}
}

// head returns the newest commit of the pull request.
func (g *github) head(ctx context.Context) (string, error) {
	var pull struct{ Head struct{ SHA string } }
	err := g.client.do(ctx, request{method: http.MethodGet, path: g.path("/pulls/%d", g.number)}, &pull)
	return pull.Head.SHA, err
}

// numberOf returns the open pull request of a branch whose newest commit is sha.
func (g *github) numberOf(ctx context.Context, owner, branch, sha string) (int64, error) {
	var pulls []struct {
		Number int64
		Head   struct{ SHA string }
	}
	path := g.path("/pulls?state=open&per_page=%d&head=%s", pageSize, url.QueryEscape(owner+":"+branch))
	if err := g.client.do(ctx, request{method: http.MethodGet, path: path}, &pulls); err != nil {
		return 0, err
	}
	for _, p := range pulls {
		if p.Head.SHA == sha && sha != "" {
			return p.Number, nil
		}
	}
	return 0, ErrStale
}

// label adds labels, and removes those that remove chooses.
func (g *github) label(ctx context.Context, add []string, remove func(string) bool) error {
	var has []struct{ Name string }
	labels := g.path("/issues/%d/labels", g.number)
	if err := g.client.do(ctx, request{method: http.MethodGet, path: labels + fmt.Sprintf("?per_page=%d", pageSize)}, &has); err != nil {
		return err
	}
	var missing []string
	for _, l := range add {
		if !slices.ContainsFunc(has, func(h struct{ Name string }) bool { return strings.EqualFold(h.Name, l) }) {
			missing = append(missing, l)
		}
	}
	if len(missing) > 0 {
		if err := g.client.do(ctx, request{method: http.MethodPost, path: labels, body: map[string]any{"labels": missing}}, nil); err != nil {
			return err
		}
	}
	for _, h := range has {
		if !remove(h.Name) {
			continue
		}
		err := gone(g.client.do(ctx, request{method: http.MethodDelete, path: labels + "/" + url.PathEscape(h.Name)}, nil))
		if err != nil && !errors.Is(err, ErrGone) {
			return err
		}
	}
	return nil
}
