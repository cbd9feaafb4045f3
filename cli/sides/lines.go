package sides

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/review"
)

// question asks for the places of fields in the module of one instance.
type question struct {
	instance *render.Instance
	platform *render.Platform
	fields   []render.NodeField
	// answered takes the place of fields[i].
	answered []func(review.Place)
}

// AddModuleFields fills in the places at which modules set the changed fields of objects: for
// the first instance of each group, which is rendered again for that. Instances that were not
// rendered, such as those of committed output, have none. An error means that ctx is done, or
// that a rendering exceeds its limits.
func AddModuleFields(ctx context.Context, r *review.Report, base, head *Side) error {
	for _, s := range []*Side{base, head} {
		if err := s.locate(ctx, s.questions(r, s == base)); err != nil {
			return err
		}
	}
	return nil
}

// questions returns the questions about a side. The base knows removed fields, and the head
// all others.
func (s *Side) questions(r *review.Report, isBase bool) []question {
	var all []question
	for _, g := range r.Groups {
		in := r.Shown(g)
		u := in.Head
		if isBase {
			u = in.Base
		}
		if u == nil {
			continue
		}
		result, ok := s.results[place{u.Path, u.At.Line, u.At.Column, u.Cluster}]
		if !ok || result.platform == nil {
			continue
		}
		q := question{platform: result.platform}
		for i := range in.Objects {
			q.add(&in.Objects[i], isBase)
		}
		if len(q.fields) == 0 {
			continue
		}
		if q.instance = s.instance(u, result.platform); q.instance != nil {
			all = append(all, q)
		}
	}
	return all
}

// add asks for the changed fields of an object.
func (q *question) add(o *review.Object, isBase bool) {
	if o.Action != objectdiff.Modify || o.Node == "" {
		return
	}
	for _, c := range o.Changes {
		f := review.Field{Path: c.Path.String(), Action: c.Action}
		object := o.New()
		switch c.Action {
		case objectdiff.Remove:
			object = o.Old()
		case objectdiff.Reorder:
			f.Action = objectdiff.Modify
		}
		if isBase != (c.Action == objectdiff.Remove) {
			continue
		}
		if path, ok := object.NodePath(c.Path); ok {
			q.fields = append(q.fields, render.NodeField{Node: o.Node, Path: path})
			q.answered = append(q.answered, func(at review.Place) {
				f.At = at
				o.Fields = append(o.Fields, f)
			})
		}
	}
}

// instance reads the instance of a unit again, or returns nil if that isn't possible any more.
func (s *Side) instance(u *review.Unit, p *render.Platform) *render.Instance {
	name := filepath.Join(s.Checkout.Dir(), filepath.FromSlash(u.Path))
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	for in := range render.Instances(name, data) {
		if in != nil && in.Pos().Line == u.At.Line && in.Pos().Column == u.At.Column && !in.SetNamespaces(p, s.flags.Namespace).Failed() {
			return in.In(u.Cluster, s.clusters[u.Cluster].Values, func(string) {})
		}
	}
	return nil
}

// locate answers questions.
func (s *Side) locate(ctx context.Context, questions []question) error {
	answers, err := render.MapWith(ctx, render.Options{}, s.flags.Limits(), questions,
		func(q question) render.Subject { return q.platform.Subject() },
		func(r *render.Renderer, q question) ([]problem.Position, error) {
			return r.Locate(q.instance, q.platform, q.fields), nil
		})
	if err != nil {
		return err
	}
	for i, q := range questions {
		for n, at := range answers[i] {
			if at.File != "" {
				q.answered[n](s.modulePlace(at))
			}
		}
	}
	return nil
}
