package github

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Run is a run of a workflow.
type Run struct {
	ID       int64
	Workflow *Workflow
	Ref      string
	Inputs   map[string]string
	Title    string
	Foreign  bool // others dispatched it

	created, cancelled time.Time
}

// Runs returns the runs that the tested client dispatched, oldest first.
func (s *Server) Runs() []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []Run
	for _, r := range s.runs {
		if !r.Foreign {
			own = append(own, *r)
		}
	}
	return own
}

// MostOpen returns the largest number of runs of the tested client that were open at once.
func (s *Server) MostOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// state returns the status and the conclusion of a run.
func (s *Server) state(r *Run) (status, conclusion string) {
	age := s.o.Now().Sub(r.created)
	if !r.cancelled.IsZero() && s.o.Now().After(r.cancelled) {
		return "completed", "cancelled" // a moment after it was asked for
	}
	switch {
	case age < s.o.Queued:
		return "queued", ""
	case age < s.o.Queued+s.o.Waiting:
		return "waiting", ""
	case age < s.o.Queued+s.o.Waiting+s.o.Running:
		return "in_progress", ""
	}
	return "completed", r.Workflow.Conclusion
}

// updated returns the time of the last change of a run.
func (s *Server) updated(r *Run) time.Time {
	at := r.created
	for _, stage := range []time.Duration{s.o.Queued, s.o.Waiting, s.o.Running} {
		if next := at.Add(stage); !next.After(s.o.Now()) {
			at = next
		}
	}
	return at
}

// Delete deletes a run.
func (s *Server) Delete(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = slices.DeleteFunc(s.runs, func(r *Run) bool { return r.ID == id })
}

func (s *Server) api(r *Run) string {
	return fmt.Sprintf("%s%s/repos/%s/actions/runs/%d", s.URL, s.o.Prefix, Repository, r.ID)
}

func html(r *Run) string {
	return fmt.Sprintf("https://github.com/%s/actions/runs/%d", Repository, r.ID)
}

// value returns the JSON of a run.
func (s *Server) value(r *Run) map[string]any {
	status, conclusion := s.state(r)
	v := example(opRun, "200", map[string]any{
		"id": r.ID, "name": r.Workflow.File, "display_title": r.Title, "event": "workflow_dispatch", "head_branch": r.Ref,
		"status": status, "conclusion": nil, "workflow_id": r.Workflow.ID, "run_attempt": 1,
		"url": s.api(r), "html_url": html(r), "created_at": r.created.UTC().Format(time.RFC3339),
		"updated_at": s.updated(r).UTC().Format(time.RFC3339),
	})
	if conclusion != "" {
		v["conclusion"] = conclusion
	}
	return v
}

// list answers with the runs of a workflow, newest first.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	flow := s.workflow(r.PathValue("workflow"))
	if flow == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []any
	for _, run := range slices.Backward(s.runs) {
		status, conclusion := s.state(run)
		wanted := func(name string, values ...string) bool {
			v := r.FormValue(name)
			return v == "" || slices.Contains(values, v)
		}
		if run.Workflow == flow && !s.o.Now().Before(run.created.Add(s.o.Unlisted)) && wanted("event", "workflow_dispatch") &&
			wanted("branch", run.Ref) && wanted("status", status, conclusion) && created(r.FormValue("created"), run.created) {
			found = append(found, s.value(run))
		}
	}
	s.page(w, r, "workflow_runs", found)
}

// created reports whether a time fulfils a filter. Both have a precision of one second.
func created(filter string, at time.Time) bool {
	at = at.UTC().Truncate(time.Second)
	parse := func(text string) time.Time { t, _ := time.Parse(time.RFC3339, text); return t } // zero if it isn't valid
	if from, ok := strings.CutPrefix(filter, ">="); ok {
		return !at.Before(parse(from))
	}
	if from, to, ok := strings.Cut(filter, ".."); ok {
		return !at.Before(parse(from)) && !at.After(parse(to))
	}
	return filter == ""
}

// page answers with a page of a list, and links to the next one.
func (s *Server) page(w http.ResponseWriter, r *http.Request, field string, all []any) {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(r.FormValue(name)); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	size, page := min(number("per_page", 30), 100), number("page", 1)
	from := min((page-1)*size, len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		next := *r.URL
		q := next.Query()
		q.Set("page", strconv.Itoa(page+1))
		next.RawQuery = q.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<%s%s>; rel="next"`, s.URL, next.String()))
	}
	answer(w, r, http.StatusOK, map[string]any{"total_count": len(all), field: append([]any{}, all[from:to]...)})
}

// find returns the run of a request, or nil after it has refused the request.
func (s *Server) find(w http.ResponseWriter, r *http.Request) *Run {
	for _, run := range s.runs {
		if strconv.FormatInt(run.ID, 10) == r.PathValue("id") {
			return run
		}
	}
	refuse(w, http.StatusNotFound, "Not Found")
	return nil
}

// get answers with a run. A run can be read before it is listed.
func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.find(w, r); run != nil {
		answer(w, r, http.StatusOK, s.value(run))
	}
}

// cancel accepts a cancellation, which has its effect later.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.find(w, r)
	if run == nil {
		return
	}
	if status, _ := s.state(run); status == "completed" {
		refuse(w, http.StatusConflict, "Cannot cancel a workflow run that is completed.")
		return
	}
	if !s.o.Stubborn || strings.HasSuffix(r.URL.Path, "/force-cancel") {
		run.cancelled = s.o.Now()
	}
	answer(w, r, http.StatusAccepted, map[string]any{})
}

// jobs answers with the jobs of a run.
func (s *Server) jobs(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.find(w, r)
	if run == nil {
		return
	}
	v := s.value(run)
	var all []any
	for i := range run.Workflow.Jobs {
		all = append(all, exampleItem(opJobs, fieldOfJobs, map[string]any{
			"id": run.ID*1000 + int64(i), "run_id": run.ID, "name": fmt.Sprintf("job-%d", i), "created_at": v["created_at"], "status": v["status"], "conclusion": v["conclusion"],
		}))
	}
	s.page(w, r, fieldOfJobs, all)
}
