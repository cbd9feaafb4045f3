package worker

import (
	"context"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// The limits of files, in bytes. A parser makes some hundred bytes of a mark, so the manager needs at
// most some 80 MB to read a file.
const (
	maxFile = 4 << 20
	// maxDocument is the limit of a document of a YAML file, and of a JSON file.
	maxDocument = 1 << 20
	// maxMarks is the limit of [yamlfile.Marks] of a file. Files that people write have one in some ten
	// bytes. Those of a document are limited, too.
	maxMarks = 500_000
)

// Document is an object in a file. It keeps the whole file in memory.
type Document struct {
	// Kind is the kind of the object, whose platform renders it.
	Kind schema.GroupKind
	// Position is where the object begins.
	Position problem.Position

	part yamlfile.Part
	item int
}

// Documents yields the objects of a YAML or JSON file of at most 4 MiB one by one, and the items of
// a v1 List instead of the List. It reads only their kinds. An object without a kind is yielded as a
// problem. A document that is not YAML, or exceeds a limit, ends the sequence.
func Documents(file string, data []byte) iter.Seq2[Document, problem.List] {
	return func(yield func(Document, problem.List) bool) {
		refused := ""
		switch {
		case len(data) > maxFile:
			refused = fmt.Sprintf("larger than %d MiB", maxFile>>20)
		case yamlfile.Marks(data) > maxMarks:
			refused = fmt.Sprintf("more than %d values and lines", maxMarks)
		}
		if refused != "" {
			yield(Document{}, problem.List{{Position: problem.Position{File: file}, Rule: problem.RuleYAML, Message: refused}})
			return
		}
		for part, problems := range yamlfile.Parts(file, data, maxDocument) {
			if problems != nil {
				yield(Document{}, problems)
				return
			}
			item := 0
			for object, problems := range part.Objects() {
				if problems != nil {
					yield(Document{}, problems)
					return
				}
				doc, problems := documentOf(object)
				doc.part, doc.item = part, item
				if item++; !yield(doc, problems) {
					return
				}
			}
		}
	}
}

// documentOf returns an object with its kind and position.
func documentOf(object yamlfile.Document) (Document, problem.List) {
	d := Document{Position: object.Start()}
	apiVersion, kind := object.Text("apiVersion"), object.Text("kind")
	if apiVersion == "" || kind == "" {
		p := problem.Problem{Position: d.Position, Rule: problem.RuleInstance, Message: "not an object with apiVersion, kind and metadata"}
		switch {
		case kind != "":
			p.Path, p.Rule, p.Message = "apiVersion", problem.RuleRequired, "missing"
		case apiVersion != "":
			p.Path, p.Rule, p.Message = "kind", problem.RuleRequired, "missing"
		}
		return d, problem.List{p}
	}
	d.Kind = schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()
	return d, nil
}

// RenderDocument renders an instance in a file as [Pool.Render] does. The problems have
// positions, as the command line prints them.
func (p *Pool) RenderDocument(ctx context.Context, key Key, d Document, namespace string) (*Rendered, error) {
	text := &protocol.Text{File: d.Position.File, Data: d.part.Text(), Item: d.item}
	rendered, err := p.rendered(ctx, key, protocol.Render{Text: text, Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Position, err)
	}
	return rendered, nil
}
