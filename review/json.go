package review

import (
	"io"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review/forecast"
)

// JSON is the JSON form of a [Report]. docs/schemas/review-v1.json describes it. Fields may
// be added; none is renamed or removed.
type JSON struct {
	// Version is the version of the form.
	Version string `json:"version"`
	// Verdict is the first line of the other forms.
	Verdict string `json:"verdict"`
	Base    Side   `json:"base"`
	Head    Side   `json:"head"`
	// Live tells how far a cluster refined the forecast. It is missing without --live.
	Live   *JSONLive `json:"live,omitempty"`
	Counts Counts    `json:"counts"`
	// Plan counts objects per action, Effects per effect, and Conditions has the number of
	// hits of each condition of --fail-on.
	Plan       objectdiff.Plan         `json:"plan"`
	Effects    map[forecast.Effect]int `json:"effects"`
	Conditions map[Condition]int       `json:"conditions"`
	Unknown    []JSONUnknown           `json:"unknown"`
	Dangers    []JSONDanger            `json:"dangers"`
	Inputs     []Input                 `json:"inputs"`
	Groups     []JSONGroup             `json:"groups"`
	Clusters   []string                `json:"clusters,omitempty"`
	Link       string                  `json:"link,omitempty"`
}

// JSONLive is the JSON form of [Live].
type JSONLive struct {
	Live
	Others []JSONObject `json:"others,omitempty"`
}

// JSONUnknown is the JSON form of an [Unknown].
type JSONUnknown struct {
	Subject   string        `json:"subject"`
	Side      Sides         `json:"side"`
	Instances []string      `json:"instances"`
	Problems  []JSONProblem `json:"problems"`
}

// JSONProblem is the JSON form of a problem.
type JSONProblem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Rule    string `json:"rule,omitempty"`
	// Severity is error, warning or note.
	Severity string `json:"severity"`
}

// JSONDanger is the JSON form of a [Danger].
type JSONDanger struct {
	Rule       string      `json:"rule"`
	Conditions []Condition `json:"conditions,omitempty"`
	Object     string      `json:"object"`
	Cluster    string      `json:"cluster,omitempty"`
	Path       string      `json:"path,omitempty"`
	Message    string      `json:"message"`
	// Group is the index of the group in which all instances have the danger, or -1 for
	// committed output. Others is the number of those in addition to the one with Object.
	Group  int `json:"group"`
	Others int `json:"others,omitempty"`
}

// JSONGroup is the JSON form of a [Group]. Plan and Objects are those of the first instance.
type JSONGroup struct {
	Title        string            `json:"title"`
	Action       objectdiff.Action `json:"action"`
	Instances    []JSONInstance    `json:"instances"`
	ValuesDiffer bool              `json:"valuesDiffer,omitempty"`
	Plan         objectdiff.Plan   `json:"plan"`
	Objects      []JSONObject      `json:"objects"`
}

// JSONInstance is the JSON form of an instance, with its place in the head.
type JSONInstance struct {
	objectdiff.Instance
	Line   int         `json:"line,omitempty"`
	Column int         `json:"column,omitempty"`
	Fields []JSONField `json:"fields,omitempty"`
}

// JSONField is the JSON form of a [Field].
type JSONField struct {
	Path   string            `json:"path"`
	Action objectdiff.Action `json:"action"`
	File   string            `json:"file"`
	Line   int               `json:"line"`
	Column int               `json:"column"`
}

// JSONObject is the JSON form of a changed object.
type JSONObject struct {
	objectdiff.ObjectReport
	Node string `json:"node,omitempty"`
	// ModuleFields has the places at which the module sets the fields of Changes.
	ModuleFields []JSONField `json:"moduleFields,omitempty"`
	// Consequences are those of the first instance, and Together those of all instances of
	// a group of several.
	Consequences []forecast.Consequence `json:"consequences,omitempty"`
	Together     []Together             `json:"together,omitempty"`
}

// WriteJSON prints a report as indented [JSON].
func WriteJSON(w io.Writer, r *Report) error { return jsonvalue.Write(w, r.JSON()) }

// JSON returns the JSON form of the report. Its lists are never nil.
func (r *Report) JSON() JSON {
	out := JSON{
		Version: "v1", Verdict: r.Verdict(), Base: r.Base, Head: r.Head, Counts: r.Counts, Plan: r.Plan, Clusters: r.Clusters, Link: r.Link,
		Effects: r.Effects(), Conditions: map[Condition]int{}, Inputs: append([]Input{}, r.Inputs...),
		Unknown: []JSONUnknown{}, Dangers: []JSONDanger{}, Groups: []JSONGroup{},
	}
	if r.Live != nil {
		out.Live = &JSONLive{Live: *r.Live, Others: jsonObjects(r.Live.Others)}
	}
	for _, c := range Conditions() {
		out.Conditions[c] = r.Count(c)
	}
	for _, u := range r.Unknown {
		out.Unknown = append(out.Unknown, JSONUnknown{u.Subject, u.Sides, append([]string{}, u.Instances...), jsonProblems(u.Problems)})
	}
	for _, d := range r.Dangers {
		group := -1
		if d.Instance >= 0 {
			group = r.Instances[d.Instance].Group
		}
		out.Dangers = append(out.Dangers, JSONDanger{
			Rule: d.Rule, Conditions: d.Conditions, Object: d.Object.String(), Cluster: d.Cluster, Path: d.Path, Message: d.Message,
			Group: group, Others: d.Others,
		})
	}
	for _, g := range r.Groups {
		out.Groups = append(out.Groups, r.jsonGroup(g))
	}
	return out
}

// jsonGroup returns the JSON form of a group.
func (r *Report) jsonGroup(g Group) JSONGroup {
	shown := r.Shown(g)
	diff := shown.diff().Report()
	out := JSONGroup{Title: g.Title, Action: shown.Action, ValuesDiffer: g.ValuesDiffer, Plan: diff.Plan, Objects: []JSONObject{}}
	for _, i := range g.Instances {
		in := JSONInstance{Instance: r.Instances[i].Instance, Line: r.Instances[i].At.Line, Column: r.Instances[i].At.Column}
		in.Fields = jsonFields(r.Instances[i].Fields)
		out.Instances = append(out.Instances, in)
	}
	together := r.Together(g)
	for i, o := range diff.Objects {
		object := JSONObject{ObjectReport: o, Node: shown.Objects[i].Node, ModuleFields: jsonFields(shown.Objects[i].Fields), Consequences: shown.Objects[i].Consequences}
		if len(g.Instances) > 1 {
			object.Together = together[i]
		}
		out.Objects = append(out.Objects, object)
	}
	return out
}

// jsonFields returns the JSON form of fields.
func jsonFields(fields []Field) []JSONField {
	var all []JSONField
	for _, f := range fields {
		all = append(all, JSONField{f.Path, f.Action, f.At.File, f.At.Line, f.At.Column})
	}
	return all
}

// jsonObjects returns the JSON form of objects that are in no group.
func jsonObjects(objects []Object) []JSONObject {
	var all []JSONObject
	in := Instance{Objects: objects}
	for i, o := range in.diff().Report().Objects {
		all = append(all, JSONObject{ObjectReport: o, Consequences: objects[i].Consequences})
	}
	return all
}

// jsonProblems returns the JSON form of problems.
func jsonProblems(ps problem.List) []JSONProblem {
	all := []JSONProblem{}
	for _, p := range ps {
		all = append(all, JSONProblem{
			File: p.Position.File, Line: p.Position.Line, Column: p.Position.Column, Path: p.Path,
			Message: p.Message, Hint: p.Hint, Rule: p.Rule, Severity: p.Severity.String(),
		})
	}
	return all
}
