package comments

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// gitlab has the notes of a merge request on GitLab.
type gitlab struct {
	client *client
	// project is the ID of the project, or its path.
	project string
	number  int64
}

// Limit implements Host: https://docs.gitlab.com/administration/instance_limits/
func (*gitlab) Limit() int { return 1_000_000 }

// quickAction is the beginning of a line that GitLab executes, such as /approve.
var quickAction = lazyregexp.New(`(?m)^([ \t]*)/`)

// Literal implements Host. A backslash keeps GitLab from executing a line as the
// token's account. Code blocks get it, too: what is one is for GitLab to decide.
func (*gitlab) Literal(markdown string) string {
	return quickAction().ReplaceAllString(markdown, `$1\/`)
}

func (g *gitlab) path(format string, args ...any) string {
	return fmt.Sprintf("/projects/%s/merge_requests/%d", url.PathEscape(g.project), g.number) + fmt.Sprintf(format, args...)
}

// Own implements Host.
func (g *gitlab) Own(ctx context.Context) ([]Comment, error) {
	var who struct{ ID int64 }
	if err := g.client.do(ctx, request{method: http.MethodGet, path: "/user"}, &who); err != nil {
		return nil, err
	}
	var own []Comment
	for page := 1; ; page++ {
		var notes []struct {
			ID     int64
			Body   string
			System bool
			Author struct{ ID int64 }
		}
		path := g.path("/notes?sort=asc&order_by=created_at&per_page=%d&page=%d", pageSize, page)
		if err := g.client.do(ctx, request{method: http.MethodGet, path: path}, &notes); err != nil {
			return nil, err
		}
		for _, n := range notes {
			if n.Author.ID == who.ID && who.ID != 0 && !n.System {
				own = append(own, Comment{ID: n.ID, Body: n.Body})
			}
		}
		if len(notes) < pageSize {
			return own, nil
		}
	}
}

// Create implements Host.
func (g *gitlab) Create(ctx context.Context, body string) error {
	return g.client.do(ctx, request{method: http.MethodPost, path: g.path("/notes"), body: map[string]string{"body": body}, once: true}, nil)
}

// Update implements Host.
func (g *gitlab) Update(ctx context.Context, c Comment, body string) error {
	return gone(g.client.do(ctx, request{method: http.MethodPut, path: g.path("/notes/%d", c.ID), body: map[string]string{"body": body}}, nil))
}

// Delete implements Host.
func (g *gitlab) Delete(ctx context.Context, c Comment) error {
	return gone(g.client.do(ctx, request{method: http.MethodDelete, path: g.path("/notes/%d", c.ID)}, nil))
}

// Hide implements Host. GitLab can't hide a note.
func (*gitlab) Hide(context.Context, Comment, bool) error { return nil }

// mergeRequest is the part of a merge request that is read.
type mergeRequest struct {
	SHA    string
	Labels []string
}

func (g *gitlab) head(ctx context.Context) (string, error) {
	var mr mergeRequest
	err := g.client.do(ctx, request{method: http.MethodGet, path: g.path("")}, &mr)
	return mr.SHA, err
}

func (g *gitlab) label(ctx context.Context, add []string, remove func(string) bool) error {
	var mr mergeRequest
	if err := g.client.do(ctx, request{method: http.MethodGet, path: g.path("")}, &mr); err != nil {
		return err
	}
	var drop []string
	for _, l := range mr.Labels {
		if remove(l) {
			drop = append(drop, l)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(add), func(l string) bool { return slices.Contains(mr.Labels, l) })
	if len(missing) == 0 && len(drop) == 0 {
		return nil
	}
	body := map[string]string{"add_labels": strings.Join(missing, ","), "remove_labels": strings.Join(drop, ",")}
	return g.client.do(ctx, request{method: http.MethodPut, path: g.path(""), body: body}, nil)
}
