package gitlab

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// artifactsOf returns the pipeline that has the job terraform.
func (s *Server) artifactsOf(p *Pipeline) bool { return (s.o.Child != "") == (p.Parent != 0) }

// jobs answers with the jobs of a pipeline.
func (s *Server) jobs(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(w, r)
	if p == nil {
		return
	}
	status := s.state(p)
	job := func(i int, name string) map[string]any {
		return map[string]any{
			"id": p.ID*100000 + int64(i), "name": name, "stage": "deploy", "status": status, "started_at": p.created.UTC().Format(time.RFC3339Nano),
			"finished_at": nil, "artifacts_file": nil,
		}
	}
	var all []any
	if s.artifactsOf(p) {
		j := job(0, "terraform")
		if len(s.o.Files) > 0 {
			j["artifacts_file"] = map[string]any{"filename": "artifacts.zip", "size": 1000}
		}
		all = append(all, j)
	}
	for i := range s.o.Jobs {
		all = append(all, job(i+1, fmt.Sprintf("job-%d", i)))
	}
	s.page(w, r, all)
}

// bridges answers with the child pipelines of a pipeline.
func (s *Server) bridges(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(w, r)
	if p == nil {
		return
	}
	var all []any
	for i := range s.o.Bridges {
		all = append(all, map[string]any{"id": i + 1, "name": "skipped", "status": "skipped", "downstream_pipeline": nil})
	}
	for _, child := range s.pipelines {
		if child.Parent == p.ID {
			all = append(all, map[string]any{
				"id": child.ID * 10, "name": "child", "status": "success", "allow_failure": false, "downstream_pipeline": s.value(child),
			})
		}
	}
	s.page(w, r, all)
}

// artifact redirects to a file of a job at another host.
func (s *Server) artifact(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("job"), 10, 64)
	if err != nil || id%100000 != 0 {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return
	}
	if _, ok := s.o.Files[r.PathValue("path")]; !ok {
		refuse(w, http.StatusNotFound, "404 Not Found")
		return
	}
	w.Header().Set("Location", s.Downloads.URL+"/"+r.PathValue("path")+"?X-Amz-Signature=signed")
	w.WriteHeader(http.StatusFound)
}

// download serves the other host. As S3 does, it refuses two sorts of credentials at once.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	data, ok := s.o.Files[strings.TrimPrefix(r.URL.Path, "/")]
	switch {
	case r.Header.Get("Authorization") != "" || r.Header.Get("PRIVATE-TOKEN") != "":
		http.Error(w, "InvalidArgument", http.StatusBadRequest)
	case r.FormValue("X-Amz-Signature") != "signed":
		http.Error(w, "AccessDenied", http.StatusForbidden)
	case !ok:
		http.NotFound(w, r)
	default:
		_, _ = w.Write([]byte(data)) // the client may be dead
	}
}
