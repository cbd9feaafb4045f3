package objectdiff

// Report is the JSON form of a diff. Fields may be added; none is renamed or removed.
// Secret values are "***", or "*** (before)" and "*** (after)" if they differ. A value
// that is known only after an apply is a string that begins with
// "(known after apply)".
type Report struct {
	Plan    Plan           `json:"plan"`
	Objects []ObjectReport `json:"objects"`
}

// ObjectReport is the JSON form of the change of one object.
type ObjectReport struct {
	Action     Action `json:"action"` // add, change or remove
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Graph is the ResourceGraph that owns the object, as namespace/name.
	Graph string `json:"graph,omitempty"`
	// OldFile and NewFile are the files that the object was read from.
	OldFile string `json:"oldFile,omitempty"`
	NewFile string `json:"newFile,omitempty"`
	// Object is the whole object, if it is added.
	Object   any             `json:"object,omitempty"`
	Changes  []ChangeReport  `json:"changes,omitempty"`
	Warnings []WarningReport `json:"warnings,omitempty"`
	// Refused is set if an apply would fail for the object. A warning has the reason.
	Refused bool `json:"refused,omitempty"`
	// Recreated is set if the object is deleted and created again.
	Recreated bool `json:"replaced,omitempty"`
}

// ChangeReport is the JSON form of one field that differs. A path that begins with
// (node) leads to a setting of the object's node.
type ChangeReport struct {
	Path   string `json:"path"`
	Action Action `json:"action"` // add, change, remove or reorder
	Old    any    `json:"old,omitempty"`
	New    any    `json:"new,omitempty"`
	// By is the field manager that changed a live field since it was applied, or
	// "others" where the field was removed.
	By string `json:"by,omitempty"`
}

// WarningReport is the JSON form of a warning.
type WarningReport struct {
	Rule    string `json:"rule"` // such as immutable; see RuleImmutable
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// Report returns the JSON form of a diff. Its Objects are never nil, so that they
// are encoded as a list. The object of an added object is complete; that of a
// removed one is left out, because the reader has it.
func (d Diff) Report() Report {
	r := Report{Plan: d.Plan(), Objects: []ObjectReport{}}
	for i := range d.Objects {
		o := &d.Objects[i]
		at := o.object()
		out := ObjectReport{
			Action: o.Action, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
			Graph: at.graph, Refused: o.Refused, Recreated: o.Recreated,
		}
		out.APIVersion, _ = at.body["apiVersion"].(string)
		if o.old != nil {
			out.OldFile = o.old.File
		}
		if o.new != nil {
			out.NewFile = o.new.File
		}
		if o.Action == Add {
			out.Object = o.new.body
		}
		for _, w := range o.Warnings {
			out.Warnings = append(out.Warnings, WarningReport{w.Rule, w.Path, w.Message})
		}
		for _, c := range o.Changes {
			out.Changes = append(out.Changes, c.json())
		}
		r.Objects = append(r.Objects, out)
	}
	return r
}

// json returns the JSON form of a change. Values that look the same are marked.
// Without the marks, two masked secrets would be no change for the reader.
func (c Change) json() ChangeReport {
	r := ChangeReport{Path: c.Path.String(), Action: c.Action, Old: c.old, New: c.new, By: c.By}
	if c.Action == Modify && inline(c.old) == inline(c.new) {
		r.Old, r.New = c.inline()
	}
	return r
}
