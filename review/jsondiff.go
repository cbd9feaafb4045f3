package review

import (
	"io"
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/review/forecast"
)

// JSONDiff is the JSON form of a comparison of objects. It is that of a report with all
// objects, and the fields of an objectdiff.Report, which it must keep.
type JSONDiff struct {
	JSON
	// Objects are sorted by namespace, kind, group and name. Their warnings include the
	// consequences that a reader must know, with the effect as the rule.
	Objects []JSONObject `json:"objects"`
}

// WriteJSONDiff prints a report as indented [JSONDiff].
func WriteJSONDiff(w io.Writer, r *Report) error {
	var all []Object
	for i := range r.Instances {
		all = append(all, r.Instances[i].Objects...)
	}
	slices.SortFunc(all, func(a, b Object) int { return a.Key.Compare(b.Key) })
	var d objectdiff.Diff
	consequences := map[objectdiff.Key][]forecast.Consequence{}
	for _, o := range all {
		o.Warnings = slices.Clip(o.Warnings) // Warn appends to it
		d.Objects = append(d.Objects, o.ObjectDiff)
		consequences[o.Key] = o.Consequences
	}
	forecast.Warn(&d, consequences)
	out := JSONDiff{JSON: r.JSON(), Objects: []JSONObject{}}
	for i, o := range d.Report().Objects {
		out.Objects = append(out.Objects, JSONObject{ObjectReport: o, Node: all[i].Node, Consequences: all[i].Consequences})
	}
	return jsonvalue.Write(w, out)
}
