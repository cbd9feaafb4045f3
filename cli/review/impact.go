package review

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// impact is what a change of modules does to instances.
type impact struct {
	objectdiff.Impact
	instances int
	// broken are the problems of instances that rendered before, faulty those of
	// instances that never did; passed over are instances of other kinds.
	broken, faulty failures
	mended         []string
	passed, same   int
}

// failures are the problems of instances, by instance.
type failures struct {
	input.Checks
	instances int
}

// compared is what became of one instance in the second rendering.
type compared struct {
	graph string
	diff  objectdiff.Diff
	// fresh says that the first rendering had no graph.
	fresh bool
}

// runImpact renders every instance twice, and keeps of the first rendering a
// compressed copy, of the second nothing.
func (o *diffOptions) runImpact(ctx context.Context, env command.Env) error {
	var stdin []byte
	if slices.Contains(o.Filenames, "-") {
		var err error
		if stdin, err = files.ReadBounded("stdin", env.In); err != nil {
			return err
		}
	}
	env.In = bytes.NewReader(stdin)
	old := o.RenderFlags
	old.Platforms = o.against
	before := map[string]packed{}
	oldSum, err := input.RenderAll(ctx, env, &old, pack, func(r input.Rendered[packed]) error {
		before[r.Instance.Pos().String()] = r.Value
		return nil
	})
	if err != nil {
		return err
	}
	env.In = bytes.NewReader(stdin)
	m := &impact{}
	newSum, err := input.RenderAll(ctx, env, &o.RenderFlags,
		func(r render.Result) (compared, problem.List) { return compareWith(before, r) },
		func(r input.Rendered[compared]) error {
			in := r.Instance
			switch {
			case r.Value.fresh:
				m.mended = append(m.mended, in.Pos().String()+": "+in.String())
			case len(r.Value.diff.Objects) == 0:
				m.same++
			default:
				m.Add(objectdiff.Instance{
					Kind: in.Kind, Namespace: in.Namespace, Name: in.Name, File: r.File, Graph: r.Value.graph,
				}, r.Value.diff)
			}
			return nil
		})
	if err != nil {
		return err
	}
	m.instances = len(newSum.Subjects)
	m.sort(oldSum.Problems, newSum.Problems)
	if err := o.writeImpact(env.Out, m); err != nil {
		return command.OutputError(err)
	}
	for _, problems := range []problem.List{oldSum.Problems, newSum.Problems} {
		if command.ProblemsExitCode(problems) == command.ExitUnknown {
			return command.ExitError{Code: command.ExitUnknown}
		}
	}
	if m.Changed()+len(m.mended)+m.broken.instances+m.faulty.instances > 0 {
		return command.ExitError{Code: command.ExitNo}
	}
	return nil
}

// packed is a graph that waits for the second rendering.
type packed struct {
	sum  [sha256.Size]byte
	data []byte
}

// pack keeps what changes something in the cluster, and what it takes to read the
// graph again.
func pack(r render.Result) (packed, problem.List) {
	g := *r.Graph
	g.Spec.PlatformRef = v1alpha1.PlatformRef{}
	data, err := json.Marshal(&g)
	if err != nil {
		return packed{}, notCompared(r, err)
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return packed{}, notCompared(r, err)
	}
	// Writing to memory doesn't fail.
	_, _ = w.Write(data)
	_ = w.Close()
	return packed{sha256.Sum256(data), b.Bytes()}, nil
}

func (p packed) graph() (*v1alpha1.ResourceGraph, error) {
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(p.data)))
	if err != nil {
		return nil, err
	}
	g := &v1alpha1.ResourceGraph{}
	return g, json.Unmarshal(data, g)
}

func compareWith(before map[string]packed, r render.Result) (compared, problem.List) {
	out := compared{graph: r.Graph.Name}
	old, ok := before[r.Instance.Pos().String()]
	if !ok {
		out.fresh = true
		return out, nil
	}
	now, problems := pack(r)
	if problems != nil || now.sum == old.sum {
		return out, problems
	}
	was, err := old.graph()
	if err != nil {
		return out, notCompared(r, err)
	}
	x, err := objectdiff.FromGraph(was, "")
	if err != nil {
		return out, notCompared(r, err)
	}
	y, err := objectdiff.FromGraph(r.Graph, "")
	if err != nil {
		return out, notCompared(r, err)
	}
	out.diff = objectdiff.Compare(x, y)
	return out, nil
}

func notCompared(r render.Result, err error) problem.List {
	return problem.List{{Position: r.Instance.Pos(), Rule: problem.RuleGraph, Instance: r.Instance.String(), Message: err.Error()}}
}

// sort tells instances that fail only now from those that failed before, and
// from those that neither side has a platform for.
func (m *impact) sort(before, after problem.List) {
	was := byInstance(before)
	is := byInstance(after)
	order := make([]string, 0, len(is))
	for k := range is {
		order = append(order, k)
	}
	slices.Sort(order)
	for _, k := range order {
		problems := is[k]
		switch {
		case was[k] == nil:
			m.broken.take(problems)
		case otherKind(was[k]) && otherKind(problems):
			m.passed++
		default:
			m.faulty.take(problems)
		}
	}
	for _, f := range []*failures{&m.broken, &m.faulty} {
		slices.SortStableFunc(f.Problems, func(a, b problem.Problem) int {
			return cmp.Or(cmp.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
		})
	}
}

func (f *failures) take(ps problem.List) {
	f.instances++
	f.Problems = append(f.Problems, ps...)
}

// byInstance sorts errors by the instance that has them, or by the file where
// there is none.
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

// otherKind tells problems of which all there is to say is that no platform is
// for the instance's kind.
func otherKind(ps problem.List) bool {
	return len(ps) == 1 && ps[0].Rule == problem.RulePlatform && ps[0].Path == "" && ps[0].Instance != ""
}
