package codehost

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Repository is the only one that the host has on GitHub.
const Repository = "acme/shop"

// serveGitHub serves the REST API below /github and GraphQL at /github/graphql.
func (h *Host) serveGitHub(mux *http.ServeMux) {
	bearer := func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") }
	handle := func(pattern string, f func(w http.ResponseWriter, r *http.Request, a Account)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /github/repos/"+Repository+path, h.access(bearer, f))
	}
	withPull := func(f func(w http.ResponseWriter, r *http.Request, a Account, p *Pull)) func(w http.ResponseWriter, r *http.Request, a Account) {
		return func(w http.ResponseWriter, r *http.Request, a Account) {
			n, _ := strconv.ParseInt(r.PathValue("n"), 10, 64)
			if p := h.pull(n); p != nil {
				f(w, r, a, p)
			} else {
				refuse(w, http.StatusNotFound, "Not Found")
			}
		}
	}
	handle("GET /pulls/{n}", withPull(func(w http.ResponseWriter, _ *http.Request, _ Account, p *Pull) { answer(w, pullJSON(p)) }))
	handle("GET /pulls", func(w http.ResponseWriter, r *http.Request, _ Account) {
		all := []any{}
		for _, p := range h.pulls {
			if r.FormValue("head") == p.Owner+":"+p.Branch {
				all = append(all, pullJSON(p))
			}
		}
		answer(w, all)
	})
	handle("GET /issues/{n}/comments", withPull(func(w http.ResponseWriter, r *http.Request, _ Account, p *Pull) {
		comments, ok := page(r, p.Comments)
		if !ok {
			refuse(w, http.StatusUnprocessableEntity, "per_page is too large")
			return
		}
		all := []any{}
		for _, c := range comments {
			all = append(all, commentJSON(c))
		}
		answer(w, all)
	}))
	handle("POST /issues/{n}/comments", withPull(func(w http.ResponseWriter, r *http.Request, a Account, p *Pull) {
		text := body[struct{ Body string }](r).Body
		if refusedBody(w, text) {
			return
		}
		w.WriteHeader(http.StatusCreated)
		answer(w, commentJSON(h.add(p, a.Name, text)))
	}))
	handle("PATCH /issues/comments/{id}", h.withComment(func(w http.ResponseWriter, r *http.Request, p *Pull, i int) {
		text := body[struct{ Body string }](r).Body
		if refusedBody(w, text) {
			return
		}
		p.Comments[i].Body = text
		answer(w, commentJSON(p.Comments[i]))
	}))
	handle("DELETE /issues/comments/{id}", h.withComment(func(w http.ResponseWriter, _ *http.Request, p *Pull, i int) {
		p.Comments = slices.Delete(p.Comments, i, i+1)
		w.WriteHeader(http.StatusNoContent)
	}))
	handle("GET /issues/{n}/labels", withPull(func(w http.ResponseWriter, _ *http.Request, _ Account, p *Pull) { answer(w, labelsJSON(p)) }))
	handle("POST /issues/{n}/labels", withPull(func(w http.ResponseWriter, r *http.Request, _ Account, p *Pull) {
		p.Labels = append(p.Labels, body[struct{ Labels []string }](r).Labels...)
		answer(w, labelsJSON(p))
	}))
	handle("DELETE /issues/{n}/labels/{label}", withPull(func(w http.ResponseWriter, r *http.Request, _ Account, p *Pull) {
		i := slices.Index(p.Labels, r.PathValue("label"))
		if i < 0 {
			refuse(w, http.StatusNotFound, "Label does not exist")
			return
		}
		p.Labels = slices.Delete(p.Labels, i, i+1)
		answer(w, labelsJSON(p))
	}))
	mux.HandleFunc("POST /github/graphql", func(w http.ResponseWriter, r *http.Request) {
		a, ok := h.accounts[bearer(r)]
		if !ok {
			refuse(w, http.StatusUnauthorized, "Bad credentials")
			return
		}
		h.graphQL(w, r, a)
	})
}

// graphQL serves the three documents that a client may send. Their text is compared,
// because the stand-in has no schema to check others with.
func (h *Host) graphQL(w http.ResponseWriter, r *http.Request, a Account) {
	q := body[struct {
		Query     string
		Variables struct{ ID string }
	}](r)
	minimize := "mutation($id:ID!){minimizeComment(input:{subjectId:$id,classifier:OUTDATED}){minimizedComment{isMinimized}}}"
	unminimize := "mutation($id:ID!){unminimizeComment(input:{subjectId:$id}){unminimizedComment{isMinimized}}}"
	failed := func(kind, message string) {
		answer(w, map[string]any{"data": nil, "errors": []any{map[string]string{"type": kind, "message": message}}})
	}
	switch {
	case q.Query == "query{viewer{login}}":
		answer(w, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": a.Name}}})
	case q.Query != minimize && q.Query != unminimize:
		failed("", "Parse error")
	case a.ReadOnly:
		failed("FORBIDDEN", "Resource not accessible by integration")
	default:
		for _, p := range h.pulls {
			for i := range p.Comments {
				if node(p.Comments[i].ID) == q.Variables.ID {
					p.Comments[i].Minimized = q.Query == minimize
					answer(w, map[string]any{"data": map[string]any{}})
					return
				}
			}
		}
		failed("NOT_FOUND", "Could not resolve to a node with the global id of '"+q.Variables.ID+"'")
	}
}

// withComment serves a change of a comment, which must be the account's own.
func (h *Host) withComment(f func(w http.ResponseWriter, r *http.Request, p *Pull, i int)) func(http.ResponseWriter, *http.Request, Account) {
	return func(w http.ResponseWriter, r *http.Request, a Account) {
		for _, p := range h.pulls {
			for i, c := range p.Comments {
				if strconv.FormatInt(c.ID, 10) != r.PathValue("id") {
					continue
				}
				if c.Author != a.Name {
					refuse(w, http.StatusForbidden, "Must have admin rights to Repository.")
					return
				}
				f(w, r, p, i)
				return
			}
		}
		refuse(w, http.StatusNotFound, "Not Found")
	}
}

func refusedBody(w http.ResponseWriter, text string) bool {
	switch {
	case text == "":
		refuse(w, http.StatusUnprocessableEntity, "Body cannot be blank")
	case tooLong(text, 65536):
		refuse(w, http.StatusUnprocessableEntity, "Body is too long (maximum is 65536 characters)")
	default:
		return false
	}
	return true
}

func node(id int64) string { return fmt.Sprintf("IC_%d", id) }

func commentJSON(c Comment) any {
	return map[string]any{
		"id": c.ID, "node_id": node(c.ID), "body": c.Body, "user": map[string]any{"login": c.Author},
		"html_url": fmt.Sprintf("https://github.com/%s/pull/7#issuecomment-%d", Repository, c.ID),
	}
}

func pullJSON(p *Pull) any {
	return map[string]any{"number": p.Number, "head": map[string]any{"sha": p.Head, "ref": p.Branch}}
}

func labelsJSON(p *Pull) any {
	all := []any{}
	for _, l := range p.Labels {
		all = append(all, map[string]any{"name": l})
	}
	return all
}
