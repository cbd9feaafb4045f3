package render

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// unknowns records which values of an output are not known. Keys of the maps
// are made by pathKey.
//
// `module vet` evaluates #Render with an input whose values are not given. A
// problem in such an output counts only if no value of the input could avoid it.
type unknowns struct {
	// isPlaceholder reports whether a string only stands for one that is not
	// known.
	isPlaceholder func(string) bool
	// values are the paths of unknown values.
	values map[string]bool
	// open are the paths of structs and lists that may have more than what is
	// known of them.
	open map[string]bool
}

// add records an unknown value and returns a stand-in: a unique string if the
// value may be a string, so that it equals no other name, else nil.
func (u *unknowns) add(v cue.Value, path string) any {
	u.values[pathKey(path)] = true
	k := v.IncompleteKind()
	if k == cue.BottomKind || k&(cue.StructKind|cue.ListKind) != 0 {
		u.addOpen(path)
	}
	if k != cue.BottomKind && k&cue.StringKind == 0 {
		return nil
	}
	return "unknown-" + strconv.Itoa(len(u.values))
}

// addOpen records a struct or list that may have more content.
func (u *unknowns) addOpen(path string) { u.open[pathKey(path)] = true }

// addReference records a late reference whose expression is not known. expr is
// the path of the expression. Problems of an expression have the path of the
// value that it stands for.
func (u *unknowns) addReference(path, expr string) {
	if u.values[pathKey(expr)] {
		u.addOpen(path)
	}
}

// mayCause reports whether a problem may be caused by something unknown: the
// value at its path, or content that may be missing from what is known.
func (u *unknowns) mayCause(p problem.Problem) bool {
	at := pathKey(p.Path)
	node := nodeKey(p.Path)
	switch {
	case p.Rule == problem.RuleUnknown:
		return false // the field exists, whatever else does
	case u.values[at] || u.open[at] || u.open[parentKey(at)]:
		return true
	case strings.HasPrefix(p.Message, "no node "):
		return u.open["nodes"] || u.open[""]
	case strings.HasPrefix(p.Message, "$generate "):
		policy := node + keySeparator + "applyPolicy"
		kind := node + keySeparator + "resource" + keySeparator + "kind"
		return u.open[node] || u.open[policy] || u.values[policy] || u.values[policy+keySeparator+"mode"] || u.values[kind]
	}
	for open := range u.open {
		if open != "" && parentKey(open) == at {
			return true
		}
	}
	return false
}

// keySeparator separates the elements of a key. No field name contains it.
const keySeparator = "\x00"

// pathKey returns the same key for a path with legacy names and with present
// ones.
func pathKey(path string) string {
	parts := fieldpath.Split(path)
	if len(parts) > 2 && parts[0] == "nodes" {
		if present, ok := legacyNames[parts[2]]; ok {
			parts[2] = present
		}
	}
	return strings.Join(parts, keySeparator)
}

// parentKey returns the key of the struct or list around a key, "" for the output
// itself.
func parentKey(key string) string {
	i := strings.LastIndex(key, keySeparator)
	return key[:max(i, 0)]
}

// nodeKey returns the key of the node that a path is in.
func nodeKey(path string) string {
	parts := fieldpath.Split(path)
	return strings.Join(parts[:min(2, len(parts))], keySeparator)
}
