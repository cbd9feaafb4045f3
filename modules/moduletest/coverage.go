package moduletest

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/parser"

	"github.com/pequod-io/pequod/render"
)

// Coverage is the part of a module that its cases reach.
type Coverage struct {
	// Points is the number of points.
	Points int
	// Missed are the points that no case reaches, by position. It is never nil.
	Missed []*Point
}

// Percent returns the percentage of reached points, rounded down. It is 100 for a
// module without points.
func (c Coverage) Percent() int {
	if c.Points == 0 {
		return 100
	}
	return (c.Points - len(c.Missed)) * 100 / c.Points
}

// Coverage finds the points of the module that its cases reach. It does not
// depend on the order in which CUE evaluates: a case reaches a point if its
// outcome changes when the point is replaced by an error. results are the results
// of [Run]; those of other modules are ignored.
//
// The cost is one load of the module and one rendering of every case per point,
// until a case reaches it. Points are tried in parallel, each within the limits
// of o. The error is about an evaluation that was stopped, or about a file that
// cannot be read.
func (m *Module) Coverage(ctx context.Context, results []Result, o Options) (Coverage, error) {
	results = slices.DeleteFunc(slices.Clone(results), func(r Result) bool {
		return r.Module != m || r.Case.instance == nil
	})
	points, sources, err := m.points()
	if err != nil {
		return Coverage{}, err
	}
	subject := func(p *Point) render.Subject {
		return render.Subject{Name: p.File + ": " + p.Text, Files: m.platform.Subject().Files}
	}
	reached, err := render.Map(ctx, o.Limits, points, subject, func(p *Point) (bool, error) {
		return m.isReached(results, p, sources, o), nil
	})
	if err != nil {
		return Coverage{}, err
	}
	c := Coverage{Points: len(points), Missed: []*Point{}}
	for i, p := range points {
		if !reached[i] {
			c.Missed = append(c.Missed, p)
		}
	}
	return c, nil
}

// isReached reports whether any case reaches a point. It tries the alternative
// edits of the point in turn, and stops at the first outcome that differs.
func (m *Module) isReached(results []Result, p *Point, sources map[string][]byte, o Options) bool {
	for _, edits := range p.edits {
		if len(edits) == 0 {
			continue
		}
		platform, err := m.load(apply(edits, sources), m.showFromCase)
		for _, r := range results {
			if p.Kind == PointValue && !r.outcome.accepted() {
				continue // the schema refused the case, so its values were not used
			}
			if err != nil {
				// The module no longer loads, so the outcome of every case with an
				// accepted input changes.
				if r.outcome.accepted() {
					return true
				}
				continue
			}
			// A renderer caches evaluated modules, so one renderer for all points
			// would keep all of them in memory.
			fresh := &render.Renderer{Options: render.Options{AllowSecrets: o.AllowSecrets}}
			if r.outcome.differs(r.Case.render(fresh, platform)) {
				return true
			}
		}
	}
	return false
}

// points returns the points in the module's files, by position, and the contents
// of the files. A node that is written in several places is one point, and
// reached if a case reaches one of them. Packages that the module imports are
// included, except those of other modules, whose authors test them.
func (m *Module) points() ([]*Point, map[string][]byte, error) {
	sources := map[string][]byte{}
	files := map[string]*ast.File{}
	inst := m.platform.Module.Value().BuildInstance()
	for _, i := range append([]*build.Instance{inst}, inst.Dependencies()...) {
		if i.Module != inst.Module {
			continue
		}
		for _, f := range i.Files {
			name := path.Join(m.files.Dir, strings.TrimPrefix(f.Filename, "../../"))
			data, err := fs.ReadFile(m.files.FS, name)
			if err != nil {
				return nil, nil, pathError(m.files.Show(name), err)
			}
			// CUE's loader may have changed its syntax tree, so parse the file again.
			file, err := parser.ParseFile(name, data, parser.ParseComments)
			if err != nil {
				return nil, nil, pathError(m.files.Show(name), err)
			}
			sources[name], files[name] = data, file
		}
	}
	enums := schemaNames(files)
	var points []*Point
	nodes := map[string]*Point{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, p := range pointsIn(files[name], name, enums) {
			p.File = m.files.Show(name)
			if first := nodes[p.Text]; p.Kind == PointNode && first != nil {
				first.edits = append(first.edits, p.edits...)
				continue
			} else if p.Kind == PointNode {
				nodes[p.Text] = p
			}
			points = append(points, p)
		}
	}
	slices.SortStableFunc(points, func(a, b *Point) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return points, sources, nil
}

// schemaNames returns #Input and the definitions that it refers to, directly or
// indirectly. A definition that only #Render uses is no part of the schema, and
// its disjunctions are not enumerations that instances choose from.
func schemaNames(files map[string]*ast.File) map[string]bool {
	refers := map[string][]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			field, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			name := labelText(field.Label)
			ast.Walk(field.Value, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && strings.HasPrefix(id.Name, "#") {
					refers[name] = append(refers[name], id.Name)
				}
				return true
			}, nil)
		}
	}
	names := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if names[name] {
			return
		}
		names[name] = true
		for _, n := range refers[name] {
			add(n)
		}
	}
	add("#Input")
	return names
}

// apply returns the contents of the files that edits change. It begins with the
// last edit, so that the offsets of the others stay valid. The contents in
// sources are not changed.
func apply(edits []edit, sources map[string][]byte) map[string][]byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(b.from, a.from) })
	changed := map[string][]byte{}
	for _, e := range edits {
		data, ok := changed[e.file]
		if !ok {
			data = sources[e.file]
		}
		changed[e.file] = slices.Concat(data[:e.from], []byte(e.text), data[e.to:])
	}
	return changed
}
