package github

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxInputs is the number of inputs that a dispatch may have.
const maxInputs = 25

// dispatch begins a run.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	var body map[string]json.RawMessage
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	flow := s.workflow(r.PathValue("workflow"))
	if flow == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	var ref string
	var wish bool
	inputs := map[string]string{}
	for name, raw := range body {
		var err error
		switch {
		case name == "ref":
			err = json.Unmarshal(raw, &ref)
		case name == "inputs":
			err = json.Unmarshal(raw, &inputs)
		case name == "return_run_details" && s.o.Mode != Old:
			err = json.Unmarshal(raw, &wish)
		default:
			refuse(w, http.StatusBadRequest, fmt.Sprintf("Invalid request.\n\n%q is not a permitted key.", name))
			return
		}
		if err != nil {
			refuse(w, http.StatusUnprocessableEntity, fmt.Sprintf("Invalid request.\n\nFor '%s', the type is wrong.", name))
			return
		}
	}
	if why := refusal(flow, ref, inputs); why != "" {
		refuse(w, http.StatusUnprocessableEntity, why)
		return
	}
	if s.o.Before != nil && !s.o.Before() {
		panic(http.ErrAbortHandler)
	}
	run := s.begin(flow, ref, inputs)
	if s.o.After != nil {
		s.o.After()
	}
	if !wish || s.o.Mode == NoDetails {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer(w, r, http.StatusOK, example(opDispatch, "200", map[string]any{"workflow_run_id": run.ID, "run_url": s.api(run), "html_url": html(run)}))
}

// refusal returns why a dispatch is refused, in GitHub's words, or "".
func refusal(flow *Workflow, ref string, inputs map[string]string) string {
	if ref != "main" {
		return "No ref found for: " + ref
	}
	if !flow.Manual {
		return "Workflow does not have 'workflow_dispatch' trigger"
	}
	if len(inputs) > maxInputs {
		return fmt.Sprintf("Invalid request.\n\nNo more than %d properties are allowed; %d were supplied.", maxInputs, len(inputs))
	}
	var unexpected []string
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if !slices.Contains(flow.Inputs, name) {
			unexpected = append(unexpected, strconv.Quote(name))
		}
	}
	if len(unexpected) > 0 {
		return "Unexpected inputs provided: [" + strings.Join(unexpected, ", ") + "]"
	}
	return ""
}

// flow answers with a workflow.
func (s *Server) flow(w http.ResponseWriter, r *http.Request) {
	flow := s.workflow(r.PathValue("workflow"))
	if flow == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	answer(w, r, http.StatusOK, example(opWorkflow, "200", map[string]any{"id": flow.ID, "name": flow.File, "path": ".github/workflows/" + flow.File, "state": "active"}))
}

// workflow returns the workflow with a file name or ID, or nil.
func (s *Server) workflow(name string) *Workflow {
	for i, w := range s.workflows {
		if w.File == name || strconv.FormatInt(w.ID, 10) == name {
			return &s.workflows[i]
		}
	}
	return nil
}

// begin adds a run, among those that others dispatch at the same second.
func (s *Server) begin(flow *Workflow, ref string, inputs map[string]string) *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(inputs map[string]string, foreign bool) *Run {
		s.last++
		title := flow.Title
		for _, name := range flow.Inputs {
			title = strings.ReplaceAll(title, "${{ inputs."+name+" }}", inputs[name])
		}
		run := &Run{ID: s.last, Workflow: flow, Ref: ref, Inputs: inputs, Title: title, Foreign: foreign, created: s.o.Now()}
		s.runs = append(s.runs, run)
		return run
	}
	for range s.o.Foreign {
		add(nil, true)
	}
	run := add(inputs, false)
	open := 0
	for _, r := range s.runs {
		if status, _ := s.state(r); !r.Foreign && status != "completed" {
			open++
		}
	}
	s.most = max(s.most, open)
	for range s.o.Foreign {
		add(nil, true)
	}
	return run
}
