package render

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// scalePath is the form of the paths in #Platform.scale: the JSONPath of a field outside
// lists, whose names need no escaping.
var scalePath = lazyregexp.New(`^(\.[A-Za-z_][-A-Za-z0-9_]*)+$`)

// checkScale checks #Platform.scale: the field of spec is an integer of #Input in every
// version, and the fields of status are outputs or fields of #Status. Whether an
// instance may lack the field is up to the generated schema; see package crdgen.
func (b *builtModule) checkScale(p *Platform) error {
	scale := p.Scale
	if scale == nil {
		return nil
	}
	var ps problem.List
	wrong := func(field, format string, args ...any) {
		path := "#Platform.scale." + field
		pos := b.root.LookupPath(cue.ParsePath(path)).Pos()
		ps = append(ps, problem.Problem{Position: cuesyntax.Position(pos), Path: path, Rule: problem.RulePlatform, Message: fmt.Sprintf(format, args...)})
	}
	if names, ok := scaleNames(scale.SpecReplicasPath, ".spec."); !ok {
		wrong("specReplicasPath", "%q is not the path of a field of spec, such as .spec.replicas", scale.SpecReplicasPath)
	} else {
		for _, v := range p.Versions {
			in := ""
			if len(p.Versions) > 1 {
				in = " in version " + v.Name
			}
			switch kind := scaled(b.root.LookupPath(cue.ParsePath(string(p.Schema(v.Name)))), names); {
			case kind == cue.BottomKind:
				wrong("specReplicasPath", "#Input has no field %s%s", strings.Join(names, "."), in)
			case kind != cue.IntKind:
				wrong("specReplicasPath", "%s is of type %s%s: want int", scale.SpecReplicasPath, kind, in)
			}
		}
	}
	check := func(field, path string, want cue.Kind) {
		names, ok := scaleNames(path, ".status.")
		if !ok {
			wrong(field, "%q is not the path of a field of status, such as .status.outputs.replicas", path)
			return
		}
		if names[0] == "outputs" && len(names) > 1 {
			return // the values of outputs are known only in a cluster
		}
		switch kind := scaled(b.root.LookupPath(cue.MakePath(cue.Def("Status"))), names); kind {
		case want:
		case cue.BottomKind:
			wrong(field, "%s is neither below .status.outputs nor a field of #Status", path)
		default:
			wrong(field, "%s is of type %s: want %s", path, kind, want)
		}
	}
	check("statusReplicasPath", scale.StatusReplicasPath, cue.IntKind)
	if scale.LabelSelectorPath != "" {
		check("labelSelectorPath", scale.LabelSelectorPath, cue.StringKind)
	}
	return ps.Err()
}

// scaleNames returns the names of the fields of a path below a prefix.
func scaleNames(path, prefix string) ([]string, bool) {
	rest, ok := strings.CutPrefix(path, prefix)
	return strings.Split(rest, "."), ok && scalePath().MatchString(path)
}

// scaled returns the kind of a field, or BottomKind if there is none.
func scaled(v cue.Value, names []string) cue.Kind {
	for _, name := range names {
		next := v.LookupPath(cue.MakePath(cue.Str(name)))
		if !next.Exists() {
			next = v.LookupPath(cue.MakePath(cue.Str(name).Optional()))
		}
		if v = next; !v.Exists() {
			return cue.BottomKind
		}
	}
	return v.IncompleteKind()
}
