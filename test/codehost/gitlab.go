package codehost

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Project is the ID of the only project that the host has on GitLab.
const Project = "42"

// serveGitLab serves the API below /gitlab.
func (h *Host) serveGitLab(mux *http.ServeMux) {
	private := func(r *http.Request) string { return r.Header.Get("Private-Token") }
	handle := func(pattern string, f func(w http.ResponseWriter, r *http.Request, a Account, p *Pull)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /gitlab/projects/"+Project+"/merge_requests/{n}"+path, h.access(private, func(w http.ResponseWriter, r *http.Request, a Account) {
			n, _ := strconv.ParseInt(r.PathValue("n"), 10, 64)
			if p := h.pull(n); p != nil {
				f(w, r, a, p)
			} else {
				refuse(w, http.StatusNotFound, "404 Not found")
			}
		}))
	}
	mux.HandleFunc("GET /gitlab/user", h.access(private, func(w http.ResponseWriter, _ *http.Request, a Account) {
		answer(w, map[string]any{"id": userID(a.Name), "username": a.Name})
	}))
	handle("GET ", func(w http.ResponseWriter, _ *http.Request, _ Account, p *Pull) {
		answer(w, map[string]any{"iid": p.Number, "sha": p.Head, "labels": p.Labels})
	})
	handle("PUT ", func(w http.ResponseWriter, r *http.Request, _ Account, p *Pull) {
		change := body[struct {
			Add    string `json:"add_labels"`
			Remove string `json:"remove_labels"`
		}](r)
		p.Labels = slices.DeleteFunc(p.Labels, func(l string) bool { return slices.Contains(strings.Split(change.Remove, ","), l) })
		if change.Add != "" {
			p.Labels = append(p.Labels, strings.Split(change.Add, ",")...)
		}
		answer(w, map[string]any{"labels": p.Labels})
	})
	handle("GET /notes", func(w http.ResponseWriter, r *http.Request, _ Account, p *Pull) {
		comments, ok := page(r, p.Comments)
		if !ok || r.FormValue("sort") != "asc" {
			refuse(w, http.StatusBadRequest, "per_page or sort")
			return
		}
		all := []any{}
		for _, c := range comments {
			all = append(all, noteJSON(c))
		}
		answer(w, all)
	})
	handle("POST /notes", func(w http.ResponseWriter, r *http.Request, a Account, p *Pull) {
		text := body[struct{ Body string }](r).Body
		if refusedNote(w, text) {
			return
		}
		w.WriteHeader(http.StatusCreated)
		answer(w, noteJSON(h.add(p, a.Name, text)))
	})
	own := func(f func(w http.ResponseWriter, r *http.Request, p *Pull, i int)) func(http.ResponseWriter, *http.Request, Account, *Pull) {
		return func(w http.ResponseWriter, r *http.Request, a Account, _ *Pull) { h.withComment(f)(w, r, a) }
	}
	handle("PUT /notes/{id}", own(func(w http.ResponseWriter, r *http.Request, p *Pull, i int) {
		text := body[struct{ Body string }](r).Body
		if refusedNote(w, text) {
			return
		}
		p.Comments[i].Body = text
		answer(w, noteJSON(p.Comments[i]))
	}))
	handle("DELETE /notes/{id}", own(func(w http.ResponseWriter, _ *http.Request, p *Pull, i int) {
		p.Comments = slices.Delete(p.Comments, i, i+1)
		w.WriteHeader(http.StatusNoContent)
	}))
}

// refusedNote also refuses quick actions, which GitLab would execute: a test must never
// get this far.
func refusedNote(w http.ResponseWriter, text string) bool {
	action := slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "/") })
	switch {
	case text == "" || tooLong(text, 1_000_000):
		refuse(w, http.StatusBadRequest, "body is missing or too long")
	case action:
		refuse(w, http.StatusTeapot, "a quick action was executed")
	default:
		return false
	}
	return true
}

// userID makes an ID of a name: the stand-in has no table of users.
func userID(name string) int64 {
	id := int64(0)
	for _, b := range []byte(name) {
		id = id*31 + int64(b)
	}
	return id
}

func noteJSON(c Comment) any {
	return map[string]any{"id": c.ID, "body": c.Body, "system": false, "author": map[string]any{"id": userID(c.Author), "username": c.Author}}
}
