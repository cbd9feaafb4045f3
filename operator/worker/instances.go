package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// Render renders an instance, an object of the API server. namespace is that of an instance
// without one. Of the metadata, only name, namespace, labels and annotations are used.
func (p *Pool) Render(ctx context.Context, key Key, instance *unstructured.Unstructured, namespace string) (*Rendered, error) {
	return p.render(ctx, key, instance, protocol.Render{Namespace: namespace})
}

// RenderPruned is Render for a version of a platform that is not the one whose schema the API
// server has. The instance is rendered without the fields that the version doesn't know, such
// as the defaults of a later one.
func (p *Pool) RenderPruned(ctx context.Context, key Key, instance *unstructured.Unstructured, namespace string) (*Rendered, error) {
	return p.render(ctx, key, instance, protocol.Render{Namespace: namespace, Prune: true})
}

func (p *Pool) render(ctx context.Context, key Key, instance *unstructured.Unstructured, request protocol.Render) (*Rendered, error) {
	var err error
	request.Object, err = encode(instance)
	if err != nil {
		return nil, err
	}
	return p.rendered(ctx, key, request)
}

func (p *Pool) rendered(ctx context.Context, key Key, request protocol.Render) (*Rendered, error) {
	c := &call{
		request: protocol.Request{Render: &request},
		limit:   p.options.Clock + p.options.Grace,
	}
	answer, err := p.do(ctx, key, c)
	if err != nil {
		return nil, err
	}
	if answer.Graph == nil && !answer.Problems.Failed() {
		return nil, fmt.Errorf("platform %s: an answer without a graph", key.name())
	}
	return &Rendered{Graph: answer.Graph, Problems: answer.Problems}, nil
}

// Validate returns the problems of an instance that Render has, without its graph. It comes
// before renderings that wait, because a request of the API server waits for it.
func (p *Pool) Validate(ctx context.Context, key Key, instance *unstructured.Unstructured, namespace string) (problem.List, error) {
	return p.validate(ctx, key, instance, protocol.Render{Namespace: namespace})
}

// ValidatePruned is to Validate what RenderPruned is to Render.
func (p *Pool) ValidatePruned(ctx context.Context, key Key, instance *unstructured.Unstructured, namespace string) (problem.List, error) {
	return p.validate(ctx, key, instance, protocol.Render{Namespace: namespace, Prune: true})
}

func (p *Pool) validate(ctx context.Context, key Key, instance *unstructured.Unstructured, request protocol.Render) (problem.List, error) {
	var err error
	request.Object, err = encode(instance)
	if err != nil {
		return nil, err
	}
	request.CheckOnly = true
	answer, err := p.do(ctx, key, p.urgent(protocol.Request{Render: &request}))
	if err != nil {
		return nil, err
	}
	return answer.Problems, nil
}

// Convert returns instances in another version of their kind, as a conversion webhook does. Only
// apiVersion and spec change. All instances that can't be converted are an error: a
// [problem.List] if the module refuses one. It is urgent like Validate.
//
// [problem.List]: https://pkg.go.dev/github.com/pequod-io/pequod/internal/problem#List
func (p *Pool) Convert(ctx context.Context, key Key, instances []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
	request := &protocol.Convert{Version: version}
	for _, in := range instances {
		object, err := encode(in)
		if err != nil {
			return nil, err
		}
		request.Objects = append(request.Objects, object)
	}
	answer, err := p.do(ctx, key, p.urgent(protocol.Request{Convert: request}))
	if err != nil {
		return nil, err
	}
	if len(answer.Specs) != len(instances) {
		return nil, fmt.Errorf("platform %s: %d of %d instances were converted", key.name(), len(answer.Specs), len(instances))
	}
	converted := make([]*unstructured.Unstructured, len(instances))
	for i, in := range instances {
		if converted[i], err = withSpec(in, answer.Specs[i]); err != nil {
			return nil, err
		}
		gv := in.GroupVersionKind().GroupVersion()
		gv.Version = version
		converted[i].SetAPIVersion(gv.String())
	}
	return converted, nil
}

// maxWebhook is the longest time for which an API server waits for a webhook.
const maxWebhook = 30 * time.Second

// urgent returns a call that the API server waits for.
func (p *Pool) urgent(request protocol.Request) *call {
	return &call{request: request, limit: min(p.options.Clock+p.options.Grace, maxWebhook), urgent: true}
}

// withSpec returns an object with another spec, or a copy of it if spec is null.
func withSpec(object *unstructured.Unstructured, spec json.RawMessage) (*unstructured.Unstructured, error) {
	var value any
	if err := utiljson.Unmarshal(spec, &value); err != nil {
		return nil, err
	}
	result := object.DeepCopy()
	if value != nil {
		result.Object["spec"] = value
	}
	return result, nil
}

// encode returns the part of an object that rendering needs as JSON.
func encode(instance *unstructured.Unstructured) (json.RawMessage, error) {
	object := map[string]any{}
	for name, value := range instance.Object {
		switch name {
		case "status":
		case "metadata":
			given, _ := value.(map[string]any)
			meta := map[string]any{}
			for _, name := range []string{"name", "namespace", "labels", "annotations"} {
				if v, ok := given[name]; ok {
					meta[name] = v
				}
			}
			object[name] = meta
		default:
			object[name] = value
		}
	}
	return protocol.Encode(object)
}
