package child

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/worker/protocol"
	"github.com/pequod-io/pequod/render"
)

// instanceFile stands for the file of an instance. Its positions mean nothing to a user, who
// has written another text.
const instanceFile = "instance"

// read reads an instance of the platform. The instance is nil if it has no kind.
func (s *session) read(object json.RawMessage) (*render.Instance, problem.List, error) {
	for in, problems := range render.Instances(instanceFile, object) {
		if in != nil && (in.Group() != s.platform.Group || in.Kind != s.platform.Kind) {
			return nil, nil, fmt.Errorf("%s is not of the kind %s", in, s.platform.GroupKind())
		}
		return in, problems, nil
	}
	return nil, nil, fmt.Errorf("there is no instance")
}

// guard evaluates an instance with the renderer, under the limits.
func guard[T any](ctx context.Context, s *session, in *render.Instance, evaluate func(*render.Renderer) T) (T, error) {
	subject := render.Subject{Name: in.String(), Files: s.platform.Subject().Files}
	return render.GuardWith(ctx, s.renderer, s.limits, subject, func(r *render.Renderer) (T, error) { return evaluate(r), nil })
}

// render renders an instance as the command line does.
func (s *session) render(ctx context.Context, request protocol.Render, answer *protocol.Answer) error {
	if request.Prune {
		pruned, err := s.pruned(ctx, request.Object)
		if err != nil {
			return err
		}
		request.Object = pruned
	}
	in, problems, err := s.read(request.Object)
	if err != nil {
		return err
	}
	if in != nil {
		problems = append(problems, in.SetNamespaces(s.platform, request.Namespace)...)
		result, err := guard(ctx, s, in, func(r *render.Renderer) render.Result { return r.Render(in, s.platform) })
		if err != nil {
			return err
		}
		if problems = append(problems, result.Problems...); !problems.Failed() && !request.CheckOnly {
			answer.Graph = result.Graph
		}
	}
	answer.Problems = withoutPositions(problems)
	return nil
}

// convert converts the specs of instances. Problems with other fields than the spec don't matter:
// the API server has stored them. Each instance has the time of one evaluation.
func (s *session) convert(ctx context.Context, request protocol.Convert, answer *protocol.Answer) error {
	for _, object := range request.Objects {
		in, problems, err := s.read(object)
		if err != nil {
			return err
		}
		if in == nil {
			return withoutPositions(problems)
		}
		type converted struct {
			spec     any
			changed  bool
			problems problem.List
		}
		c, err := guard(ctx, s, in, func(r *render.Renderer) (c converted) {
			c.spec, c.changed, c.problems = r.Convert(in, s.platform, request.Version)
			return c
		})
		if err != nil {
			return err
		}
		if len(c.problems) > 0 {
			for i := range c.problems {
				c.problems[i].Instance = in.String()
			}
			return withoutPositions(c.problems)
		}
		spec := json.RawMessage("null")
		if c.changed {
			if spec, err = protocol.Encode(c.spec); err != nil {
				return err
			}
		}
		answer.Specs = append(answer.Specs, spec)
	}
	return nil
}

// withoutPositions removes positions in the instance, and problems that differ in nothing
// else.
func withoutPositions(problems problem.List) problem.List {
	for i := range problems {
		p := &problems[i]
		if p.Position.File == instanceFile {
			p.Position = problem.Position{}
		}
		if p.Related.File == instanceFile {
			p.Related = problem.Position{}
		}
		p.InstanceAt = problem.Position{}
	}
	return slices.Compact(problems.Sorted())
}
