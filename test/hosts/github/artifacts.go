package github

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// names returns the names of the artifacts of a run in their order.
func names(run *Run) []string { return slices.Sorted(maps.Keys(run.Workflow.Artifacts)) }

// artifacts answers with the artifacts of a run that has ended.
func (s *Server) artifacts(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.find(w, r)
	if run == nil {
		return
	}
	var all []any
	if status, _ := s.state(run); status == "completed" {
		for i, name := range names(run) {
			if wanted := r.FormValue("name"); wanted != "" && wanted != name {
				continue
			}
			id := run.ID*1000 + int64(i)
			all = append(all, exampleItem(opArtifacts, fieldOfArtifacts, map[string]any{
				"id": id, "name": name, "size_in_bytes": len(run.Workflow.Artifacts[name]), "expired": false,
				"created_at":           run.created.UTC().Format(time.RFC3339),
				"archive_download_url": fmt.Sprintf("%s%s/repos/%s/actions/artifacts/%d/zip", s.URL, s.o.Prefix, Repository, id),
			}))
		}
	}
	s.page(w, r, fieldOfArtifacts, all)
}

// artifact redirects to a signed address at another host.
func (s *Server) artifact(w http.ResponseWriter, r *http.Request) {
	if s.archive(r.PathValue("id")) == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	w.Header().Set("Location", s.Downloads.URL+"/"+r.PathValue("id")+"?sig=signed")
	w.WriteHeader(http.StatusFound)
}

// archive returns the bytes of an artifact, or nil.
func (s *Server) archive(id string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs {
		for i, name := range names(run) {
			if fmt.Sprint(run.ID*1000+int64(i)) == id {
				return run.Workflow.Artifacts[name]
			}
		}
	}
	return nil
}

// download serves the other host. As Azure's storage does, it refuses credentials of GitHub.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	data := s.archive(strings.TrimPrefix(r.URL.Path, "/"))
	switch {
	case r.Header.Get("Authorization") != "":
		http.Error(w, "InvalidAuthenticationInfo", http.StatusBadRequest)
	case r.FormValue("sig") != "signed":
		http.Error(w, "AuthenticationFailed", http.StatusForbidden)
	case data == nil:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", "application/zip")
		_, _ = w.Write(data) // the client may be dead
	}
}
