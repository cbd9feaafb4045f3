package vet

import (
	"fmt"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/read"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// checkLosses reports the entries of loses in #Versions that have no effect: those
// that name no field of the stored version, and all entries of the stored version
// itself, from which nothing is converted.
func (c *checker) checkLosses() {
	stored := c.platform.Version
	found, err := read.Value(c.root.LookupPath(cue.ParsePath(string(c.platform.Schema(stored)))), "spec", "spec")
	if err != nil {
		return // the check of the CRD reports it
	}
	spec := schema{shape: found.Field.Shape}
	for _, v := range c.platform.Versions {
		items, err := c.root.LookupPath(cue.MakePath(cue.Def("Versions"), cue.Str(v.Name), cue.Str("loses"))).List()
		for i := 0; err == nil && items.Next(); i++ {
			text, err := items.Value().String()
			if err != nil {
				continue // render.NewPlatform has decoded it
			}
			q := problem.Problem{
				Position: cuesyntax.Position(items.Value().Pos()),
				Path:     "#Versions." + v.Name + ".loses" + fieldpath.Index(i), Rule: problem.RuleModule,
			}
			if v.Name == stored {
				q.Message, q.Hint = stored+" is stored, and loses no field", "list the field in the version that loses it"
			} else {
				q.Message, q.Hint = spec.misses(stored, text)
			}
			if q.Message != "" {
				c.report(q)
			}
		}
	}
}

// misses returns the reason why a path, such as spec.ports[].name, leads to no field
// of the spec of a version, and a hint. The reason is empty if there is such a
// field, or if there may be one.
func (of schema) misses(version, path string) (reason, hint string) {
	parts := fieldpath.Split(path)
	if len(parts) == 0 || parts[0] != "spec" {
		return fmt.Sprintf("%q is not a path in the spec", path), "begin it with spec"
	}
	at := "spec"
	for _, name := range parts[1:] {
		kinds := shape.KindsOf(of.shape)
		switch {
		case len(of.shape) == 0 || of.shape.IsAnything():
			return "", ""
		case kinds&shape.ListKind != 0 && fieldpath.IsIndex(name):
			return fmt.Sprintf("%q has the index of an item", path), "write [] for any item"
		case name == "" && kinds&shape.ListKind == 0:
			return fmt.Sprintf("%s of %s is not a list", at, version), ""
		case name == "":
			at, of = at+"[]", of.listItem()
			continue
		case kinds&shape.StructKind == 0:
			return fmt.Sprintf("%s of %s has no fields", at, version), ""
		}
		if known, ok := of.lacks(name); ok {
			return fmt.Sprintf("%s has no field %s", version, fieldpath.Join(at, name)), source.Hint(name, known)
		}
		at = fieldpath.Join(at, name)
		// An unknown field, such as that of a map, has no shape: it may have any.
		of, _ = of.field(name)
	}
	if at != path {
		return fmt.Sprintf("%q is not how this path is written", path), "write " + at
	}
	return "", ""
}

// listItem returns the schema of the items of a list, at any index.
func (of schema) listItem() schema {
	var items shape.Shape
	for _, t := range of.shape {
		if t.Kind != shape.ListKind {
			continue
		}
		for _, p := range t.List.Prefix {
			items = append(items, p...)
		}
		items = append(items, t.List.Rest...)
	}
	return schema{shape: items}
}
