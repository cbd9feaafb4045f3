package gitlab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// create begins a pipeline with a token. Its variables are an array.
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Ref       string                        `json:"ref"`
		Variables []struct{ Key, Value string } `json:"variables"`
		Inputs    map[string]any                `json:"inputs"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		refuse(w, http.StatusBadRequest, "400 Bad request - variables is invalid")
		return
	}
	if tokenOf(r) != Token {
		refuse(w, http.StatusForbidden, "403 Forbidden")
		return
	}
	variables := map[string]string{}
	for _, v := range body.Variables {
		variables[v.Key] = v.Value
	}
	s.begin(w, "api", body.Ref, variables, body.Inputs)
}

// trigger begins a pipeline with a trigger token. Its variables are an object.
func (s *Server) trigger(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Token     string            `json:"token"`
		Ref       string            `json:"ref"`
		Variables map[string]string `json:"variables"`
		Inputs    map[string]any    `json:"inputs"`
	}
	switch err := json.NewDecoder(r.Body).Decode(&body); {
	case err != nil:
		refuse(w, http.StatusBadRequest, "variables needs to be a map of key-valued strings")
	case body.Token != Trigger || !isProject(r):
		refuse(w, http.StatusNotFound, "404 Not Found")
	default:
		s.begin(w, "trigger", body.Ref, body.Variables, body.Inputs)
	}
}

// begin answers to a request that begins a pipeline.
func (s *Server) begin(w http.ResponseWriter, source, ref string, variables map[string]string, inputs map[string]any) {
	if ref != "main" {
		refuse(w, http.StatusBadRequest, map[string]any{"base": []string{"Reference not found"}})
		return
	}
	if s.o.Before != nil && !s.o.Before() {
		panic(http.ErrAbortHandler)
	}
	p := s.add(&Pipeline{Source: source, Ref: ref, Variables: variables, Inputs: inputs})
	if s.o.After != nil {
		s.o.After()
	}
	answer(w, http.StatusCreated, s.value(p))
}

// add adds a pipeline, after those of others, and its child.
func (s *Server) add(p *Pipeline) *Pipeline {
	s.mu.Lock()
	defer s.mu.Unlock()
	put := func(p *Pipeline) {
		s.last++
		p.ID, p.created = s.last, s.o.Now()
		s.pipelines = append(s.pipelines, p)
	}
	for range s.o.Foreign {
		put(&Pipeline{Source: p.Source, Ref: p.Ref, Foreign: true, Variables: map[string]string{"PEQUOD_RUN": "another"}})
	}
	put(p)
	if s.o.Child != "" {
		put(&Pipeline{Source: "parent_pipeline", Ref: p.Ref, Parent: p.ID})
	}
	open := 0
	for _, other := range s.pipelines {
		if !other.Foreign && other.Parent == 0 && !slices.Contains(ended, s.state(other)) {
			open++
		}
	}
	s.most = max(s.most, open)
	return p
}

// Pipelines returns the pipelines that the tested client created, oldest first.
func (s *Server) Pipelines() []Pipeline {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []Pipeline
	for _, p := range s.pipelines {
		if !p.Foreign && p.Parent == 0 {
			own = append(own, *p)
		}
	}
	return own
}

// MostOpen returns the largest number of pipelines of the tested client that were open at once.
func (s *Server) MostOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Delete deletes a pipeline.
func (s *Server) Delete(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipelines = slices.DeleteFunc(s.pipelines, func(p *Pipeline) bool { return p.ID == id })
}

// ended are the states of pipelines that have ended.
var ended = []string{"success", "failed", "canceled", "skipped"}

// state returns the status of a pipeline.
func (s *Server) state(p *Pipeline) string {
	age, stages := s.o.Now().Sub(p.created), s.o.Stages
	last := s.o.End
	if p.Parent != 0 {
		last = s.o.Child
		stages = append(slices.Clone(stages), "running")
	}
	if !p.cancelled.IsZero() {
		if s.o.Now().After(p.cancelled.Add(time.Second)) {
			return "canceled"
		}
		return "canceling"
	}
	if s.o.Stage > 0 && int(age/s.o.Stage) < len(stages) {
		return stages[age/s.o.Stage]
	}
	return last
}

// value returns the JSON of a pipeline.
func (s *Server) value(p *Pipeline) map[string]any {
	v := map[string]any{
		"id": p.ID, "iid": p.ID - 100, "project_id": 7, "status": s.state(p), "source": p.Source, "ref": p.Ref,
		"web_url": fmt.Sprintf("https://gitlab.com/%s/-/pipelines/%d", Project, p.ID), "name": nil,
		"created_at": p.created.UTC().Format(time.RFC3339Nano), "updated_at": p.created.UTC().Format(time.RFC3339Nano),
	}
	if s.o.Name != "" {
		name := s.o.Name
		for key, value := range p.Variables {
			name = strings.ReplaceAll(name, "$"+key, value)
		}
		v["name"] = name
	}
	return v
}

// list answers with the pipelines, newest first. Children are only listed on demand.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []any
	after, _ := time.Parse(time.RFC3339, r.FormValue("updated_after")) // zero if it is absent
	for _, p := range slices.Backward(s.pipelines) {
		source := r.FormValue("source")
		if p.created.After(after) && (source == p.Source || source == "" && p.Parent == 0) {
			found = append(found, s.value(p))
		}
	}
	s.page(w, r, found)
}

// page answers with a page of a list, and links to the next one.
func (s *Server) page(w http.ResponseWriter, r *http.Request, all []any) {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(r.FormValue(name)); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	size, page := min(number("per_page", 20), 100), number("page", 1)
	from := min((page-1)*size, len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		next := *r.URL
		q := next.Query()
		q.Set("page", strconv.Itoa(page+1))
		next.RawQuery = q.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<%s%s>; rel="next"`, s.URL, next.String()))
	}
	answer(w, http.StatusOK, append([]any{}, all[from:to]...))
}

// find returns the pipeline of a request, or nil after it has refused the request.
func (s *Server) find(w http.ResponseWriter, r *http.Request) *Pipeline {
	for _, p := range s.pipelines {
		if strconv.FormatInt(p.ID, 10) == r.PathValue("id") {
			return p
		}
	}
	refuse(w, http.StatusNotFound, "404 Not found")
	return nil
}

// get answers with a pipeline.
func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(w, r); p != nil {
		answer(w, http.StatusOK, s.value(p))
	}
}

// variables answers with the variables of a pipeline.
func (s *Server) variables(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(w, r)
	switch {
	case p == nil:
	case tokenOf(r) != Token:
		refuse(w, http.StatusForbidden, "403 Forbidden")
	default:
		all := []any{}
		for key, value := range p.Variables {
			all = append(all, map[string]any{"key": key, "variable_type": "env_var", "value": value, "raw": false})
		}
		answer(w, http.StatusOK, all)
	}
}

// cancel cancels a pipeline, which ends later. One that has ended stays as it is.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(w, r)
	if p == nil {
		return
	}
	for _, other := range s.pipelines {
		if (other == p || other.Parent == p.ID) && !slices.Contains(ended, s.state(other)) && other.cancelled.IsZero() {
			other.cancelled = s.o.Now()
		}
	}
	answer(w, http.StatusOK, s.value(p))
}
