// Package impact renders instances with two versions of their platforms and reports what
// differs.
//
// [Compare] is the entry point. Its [Report] groups the instances whose objects change, and
// has those that are valid with only one of the versions. [Report.Write] prints it as text,
// JSON or markdown. Callers choose the versions, and the exit code.
//
// The package doesn't write output by itself, and doesn't connect to a cluster.
package impact

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// Report is the effect of a change of modules on a set of instances.
type Report struct {
	// Impact groups the instances that change.
	objectdiff.Impact
	// Members are the instances that are valid with both platforms, in the order of the
	// input.
	Members []Member
	// instances is the number of all instances in the input.
	instances int
	// broken are the instances that are valid only with the old platforms, and
	// invalid those that are valid with neither side.
	broken, invalid failures
	// fixed are the instances that are valid only with the new platforms, as
	// POSITION: NAME.
	fixed []string
	// skipped is the number of instances that neither side has a platform for,
	// unchanged the number of those that render to the same graph.
	skipped, unchanged int
	// unchecked is true if an instance could not be checked with one of the versions, for
	// example because its evaluation exceeded a limit.
	unchecked bool
}

// Member is an instance that is valid with both platforms.
type Member struct {
	objectdiff.Instance
	// Labels and Annotations are those of the instance.
	Labels, Annotations map[string]string
	// Changed is set if it renders to another graph.
	Changed bool
	// Platform is the new platform.
	Platform *render.Platform
}

// Unchecked reports whether an instance could not be checked. There is no answer then,
// whatever the other instances show.
func (m *Report) Unchecked() bool { return m.unchecked }

// Broken returns the number of instances that are valid only with the old platforms.
func (m *Report) Broken() int { return m.broken.instances }

// Empty reports whether all instances are valid and unchanged, apart from those that neither
// side has a platform for.
func (m *Report) Empty() bool {
	return m.Changed+len(m.fixed)+m.broken.instances+m.invalid.instances == 0
}

// failures are the problems of a number of instances.
type failures struct {
	input.Checks
	// instances counts the instances; each may have several problems.
	instances int
}

// compared is the result of one instance in the second rendering.
type compared struct {
	// graph is the name of the graph that the instance renders to.
	graph string
	// diff is empty if the instance renders to the same graph.
	diff objectdiff.Diff
	// fixed is true if the first rendering produced no graph.
	fixed bool
	// platform is the new platform.
	platform *render.Platform
}

// Compare renders every instance of the input with the old and with the new platforms. Both
// have the same files and options. It keeps the graphs of the first rendering, and compares
// those of the second as they come.
//
// Stdin is read into memory first, because both renderings need it.
//
// Each instance ends up in one class:
//
//	old platforms   new platforms   class
//	valid           valid           changed or unchanged
//	valid           not valid       broken
//	not valid       valid           fixed
//	not valid       not valid       invalid
//	no platform     no platform     skipped
//
// Compare returns an error if platforms can't be loaded or files can't be read.
func Compare(ctx context.Context, env command.Env, before, after *input.RenderFlags) (*Report, error) {
	var stdin []byte
	if slices.Contains(after.Filenames, "-") {
		var err error
		if stdin, err = files.ReadStdin(ctx, env.In); err != nil {
			return nil, err
		}
	}
	// First rendering, with the old platforms. An instance is identified by its
	// position, which is the same in both renderings.
	env.In = bytes.NewReader(stdin)
	graphs := map[string]*v1alpha1.ResourceGraph{}
	oldSum, err := input.RenderAll(ctx, env, before,
		func(r render.Result) (*v1alpha1.ResourceGraph, problem.List) { return r.Graph, nil },
		func(r input.Rendered[*v1alpha1.ResourceGraph]) error {
			graphs[r.Instance.Pos().String()] = r.Value
			return nil
		})
	if err != nil {
		return nil, err
	}
	// Second rendering, with the new platforms. compareWith runs in the rendering
	// goroutines and only reads graphs; the counts are made on this goroutine.
	env.In = bytes.NewReader(stdin)
	m := &Report{}
	newSum, err := input.RenderAll(ctx, env, after,
		func(r render.Result) (compared, problem.List) { return compareWith(graphs, r) },
		func(r input.Rendered[compared]) error {
			m.add(r)
			return nil
		})
	if err != nil {
		return nil, err
	}
	m.instances = len(newSum.Subjects)
	m.classify(oldSum.Problems, newSum.Problems)
	for _, problems := range []problem.List{oldSum.Problems, newSum.Problems} {
		m.unchecked = m.unchecked || command.ProblemsExitCode(problems) == command.ExitUnknown
	}
	return m, nil
}

// add adds an instance that is valid with the new platforms.
func (m *Report) add(r input.Rendered[compared]) {
	in := r.Instance
	if r.Value.fixed {
		m.fixed = append(m.fixed, in.Pos().String()+": "+in.String())
		return
	}
	labels, annotations := in.Metadata()
	member := Member{
		Instance: objectdiff.Instance{Kind: in.Kind, Namespace: in.Namespace, Name: in.Name, File: r.File, Graph: r.Value.graph},
		Labels:   labels, Annotations: annotations, Changed: len(r.Value.diff.Objects) > 0, Platform: r.Value.platform,
	}
	if m.Members = append(m.Members, member); !member.Changed {
		m.unchanged++
		return
	}
	m.Add(member.Instance, r.Value.diff)
}

// compareWith compares a rendered graph with the one of the first rendering. It is called by
// several goroutines at once; before must not change in the meantime.
//
// A graph that can't be compared is an error of its instance, which then counts as
// broken or invalid.
func compareWith(before map[string]*v1alpha1.ResourceGraph, r render.Result) (compared, problem.List) {
	out := compared{graph: r.Graph.Name, platform: r.Platform}
	was := before[r.Instance.Pos().String()]
	if was == nil {
		out.fixed = true
		return out, nil
	}
	var err error
	if out.diff, err = objectdiff.CompareGraphs(was, r.Graph); err != nil {
		return out, problem.List{{Position: r.Instance.Pos(), Rule: problem.RuleGraph, Instance: r.Instance.String(), Message: err.Error()}}
	}
	return out, nil
}

// classify sorts the instances with errors in the second rendering: those that
// are valid in the first one are broken, those without a platform on either side
// are skipped, and all others are invalid. Their problems are put in the order of
// positions. Instances are sorted by key first, so that equal positions have a
// stable order.
func (m *Report) classify(before, after problem.List) {
	was := byInstance(before)
	is := byInstance(after)
	for _, k := range slices.Sorted(maps.Keys(is)) {
		problems := is[k]
		switch {
		case was[k] == nil:
			m.broken.take(problems)
		case noPlatform(was[k]) && noPlatform(problems):
			m.skipped++
		default:
			m.invalid.take(problems)
		}
	}
	for _, f := range []*failures{&m.broken, &m.invalid} {
		slices.SortStableFunc(f.Problems, func(a, b problem.Problem) int { return a.Position.Compare(b.Position) })
	}
}

// take adds the problems of one more instance.
func (f *failures) take(ps problem.List) {
	f.instances++
	f.Problems = append(f.Problems, ps...)
}

// byInstance groups errors by instance, or by file if a document is no instance.
// The keys are FILE, a zero byte and the name of the instance. Warnings and notes
// are dropped: they don't make an instance invalid.
func byInstance(ps problem.List) map[string]problem.List {
	all := map[string]problem.List{}
	for _, p := range ps {
		if p.Severity != problem.Error {
			continue
		}
		file := cmp.Or(p.InstanceAt.File, p.Position.File)
		key := fmt.Sprintf("%s\x00%s", file, p.Instance)
		all[key] = append(all[key], p)
	}
	return all
}

// noPlatform reports whether the only problem of an instance is that there is no
// platform for its kind. A version that the platform doesn't serve has the same
// rule, but a path; it is not skipped.
func noPlatform(ps problem.List) bool {
	return len(ps) == 1 && ps[0].Rule == problem.RulePlatform && ps[0].Path == "" && ps[0].Instance != ""
}
