// Package impact compares the output of two versions of platforms for the same instances. It
// tells which instances change and how, and which are valid with only one of the versions.
//
// [Compare] renders every instance with both versions, and [Report.Write] prints its report as
// text, JSON, HTML or markdown. Callers choose the versions, and the exit code.
//
// The package doesn't write output by itself, and doesn't connect to a cluster.
package impact

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/sides"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/review"
)

// Report is the effect of a change of modules on a set of instances.
type Report struct {
	*review.Report
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
	// skipped is the number of instances that neither side has a platform for.
	skipped int
	// unchecked is true if an instance could not be checked with one of the versions, for
	// example because its evaluation exceeded a limit.
	unchecked bool
}

// Member is an instance that is valid with both platforms.
type Member struct {
	// Before and After are the instance on both sides.
	Before, After *review.Unit
	// Labels and Annotations are those of the instance.
	Labels, Annotations map[string]string
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
	return m.Counts.Changed+len(m.fixed)+m.broken.instances+m.invalid.instances == 0
}

// failures are the problems of a number of instances.
type failures struct {
	problems problem.List
	// instances counts the instances; each may have several problems.
	instances int
}

// take adds the problems of one more instance. Warnings and notes don't make it invalid.
func (f *failures) take(ps problem.List) {
	f.instances++
	for _, p := range ps {
		if p.Severity == problem.Error {
			f.problems = append(f.problems, p)
		}
	}
}

// sort puts the problems in the order of positions.
func (f *failures) sort() {
	slices.SortStableFunc(f.problems, func(a, b problem.Problem) int { return a.Position.Compare(b.Position) })
}

// Compare renders every instance of the input with the old and with the new platforms. Both
// have the same files and options. Stdin is read into memory first, because both renderings
// need it.
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
	env.In = bytes.NewReader(stdin)
	base, err := sides.RenderInstances(ctx, env, before, review.Side{Name: strings.Join(before.Platforms, ", ")}, nil)
	if err != nil {
		return nil, err
	}
	metadata := map[problem.Position]Member{}
	flags := *after
	flags.Observer.Document = func(_ string, in *render.Instance, _ problem.List) {
		if in != nil {
			var m Member
			m.Labels, m.Annotations = in.Metadata()
			metadata[in.Pos()] = m
		}
	}
	env.In = bytes.NewReader(stdin)
	head, err := sides.RenderInstances(ctx, env, &flags, review.Side{Name: strings.Join(after.Platforms, ", ")}, base)
	if err != nil {
		return nil, err
	}
	if err := sides.Units(ctx, base, head); err != nil {
		return nil, err
	}
	r, err := review.New(base.Tree, head.Tree, sides.Inputs(ctx, env, base, head))
	if err != nil {
		return nil, err
	}
	if err := sides.AddModuleFields(ctx, r, base, head); err != nil {
		return nil, err
	}
	m := &Report{Report: r, instances: len(head.Units) + len(head.Failures) + head.Others, skipped: head.Others}
	m.Counts.Skipped = m.skipped
	m.classify(base, head, metadata)
	return m, nil
}

// classify sorts the instances into classes. An instance is identified by its position, which
// is the same on both sides.
func (m *Report) classify(base, head *sides.Side, metadata map[problem.Position]Member) {
	check := func(ps problem.List) {
		m.unchecked = m.unchecked || command.ProblemsExitCode(ps) == command.ExitUnknown
	}
	was := map[problem.Position]*review.Unit{}
	for i := range base.Units {
		was[base.Units[i].At] = &base.Units[i]
		check(base.Units[i].Problems)
	}
	for i := range head.Units {
		u := &head.Units[i]
		check(u.Problems)
		old := was[u.At]
		failed := old == nil || old.Problems.Failed()
		switch {
		case u.Problems.Failed() && failed:
			m.invalid.take(u.Problems)
		case u.Problems.Failed():
			m.broken.take(u.Problems)
		case failed:
			m.fixed = append(m.fixed, u.At.String()+": "+objectdiff.Key{Kind: u.Kind, Namespace: u.Namespace, Name: u.Name}.String())
		default:
			member := metadata[u.At]
			member.Before, member.After, member.Platform = old, u, head.Platform(u)
			m.Members = append(m.Members, member)
		}
	}
	for _, f := range head.Failures { // documents that are no instances
		check(f.Problems)
		m.invalid.take(f.Problems)
	}
	m.broken.sort()
	m.invalid.sort()
}
