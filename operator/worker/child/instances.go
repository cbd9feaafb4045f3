package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/worker/protocol"
	"github.com/pequod-io/pequod/render"
)

// instanceFile stands for the file of an instance of the API server. Its positions mean nothing
// to a user, who has written another text.
const instanceFile = "instance"

// read reads an instance of the platform. The instance is nil if it has no kind.
func (s *session) read(object json.RawMessage) (*render.Instance, problem.List, error) {
	for in, problems := range render.Instances(instanceFile, object) {
		return s.own(in, problems)
	}
	return nil, nil, errNoInstance
}

// errNoInstance reports a request without an instance.
var errNoInstance = errors.New("there is no instance")

// own returns an instance and its problems. It is an error if the instance is not of the kind
// of the platform.
func (s *session) own(in *render.Instance, problems problem.List) (*render.Instance, problem.List, error) {
	switch {
	case in == nil || in.Group() == s.platform.Group && in.Kind == s.platform.Kind:
		return in, problems, nil
	case problems.Failed(): // such as a kind that is given twice
		return nil, problems, nil
	}
	return nil, nil, fmt.Errorf("%s is not of the kind %s", in, s.platform.GroupKind())
}

// reading is the last text with several instances. It is kept because they are rendered one
// after the other.
type reading struct {
	protocol.Text
	found []candidate
}

// candidate is an instance with the problems of reading it. The instance is nil if it has no kind.
type candidate struct {
	instance *render.Instance
	problems problem.List
}

// readText is like read for an instance in a file.
func (s *session) readText(text protocol.Text) (*render.Instance, problem.List, error) {
	found := s.last.found
	if text.File != s.last.File || !bytes.Equal(text.Data, s.last.Data) {
		found, s.last = nil, reading{}
		for in, problems := range render.Instances(text.File, text.Data) {
			found = append(found, candidate{in, problems})
		}
		if len(found) > 1 {
			s.last = reading{text, found}
		}
	}
	if n := len(found); n > 0 && found[n-1].instance == nil {
		text.Item = min(text.Item, n-1) // a List with problems has no items
	}
	if text.Item >= len(found) {
		return nil, nil, errNoInstance
	}
	in, problems := found[text.Item].instance, slices.Clone(found[text.Item].problems)
	if in != nil {
		clone := *in // its namespaces will be set
		in = &clone
	}
	return s.own(in, problems)
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
	read := func() (*render.Instance, problem.List, error) { return s.read(request.Object) }
	if request.Text != nil {
		read = func() (*render.Instance, problem.List, error) { return s.readText(*request.Text) }
	}
	in, problems, err := read()
	if err != nil {
		return err
	}
	if in != nil {
		problems = append(problems, in.SetNamespaces(s.platform, request.Namespace)...)
		result, err := guard(ctx, s, in, func(r *render.Renderer) render.Result { return r.Render(in, s.platform) })
		if err != nil {
			return err
		}
		if problems = append(problems, result.Problems.Without(problems)...); !problems.Failed() && !request.CheckOnly {
			answer.Graph = result.Graph
		}
	}
	if request.Text != nil {
		answer.Problems = problems.Sorted()
	} else {
		answer.Problems = withoutPositions(problems)
	}
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
