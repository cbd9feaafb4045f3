package source

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/yamlout"
	"github.com/pequod-io/pequod/modules/archive"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/worker"
)

// The files that select modules and policies for the command line.
const (
	configFile = "pequod.yaml"
	lockFile   = "pequod.lock"
)

const (
	// maxErrors is the number of problems after which no further document is read.
	maxErrors = 100
	// maxManifests limits the sum of the manifests, which are in memory, in bytes.
	maxManifests = 64 << 20
)

// build is a rendering of files.
type build struct {
	*session
	// entries are the platforms of the kinds in the files, nil for kinds without one. All instances
	// of a kind are rendered by one version, even if the catalog gets another one meanwhile.
	entries   map[schema.GroupKind]*catalog.Entry
	manifests []archive.File
	size      int // of the manifests, in bytes
	problems  problem.List
	failure   *failure

	// graphs has the positions of the instances by the keys of their graphs, and claims the
	// objects in these graphs.
	graphs map[string]problem.Position
	claims graph.Claims
}

// build renders the instances in files. The result has manifests, or a failure.
func (s *session) build(ctx context.Context, files []archive.File) *build {
	b := &build{session: s, entries: map[schema.GroupKind]*catalog.Entry{}, graphs: map[string]problem.Position{}}
	for _, file := range files {
		if b.file(ctx, file); b.failure != nil {
			return b
		}
		if len(b.problems) >= maxErrors {
			break
		}
	}
	switch {
	case b.problems.Failed():
		b.failure = refused(b.problems)
	case len(b.manifests) == 0:
		// An empty artifact would have Flux delete all graphs.
		b.failure = &failure{reason: reasonNoInstances, message: "the files in " + shown(s.source.Spec.Path) + " have no instances", stalled: true}
	}
	return b
}

// file renders the instances of a file.
func (b *build) file(ctx context.Context, file archive.File) {
	switch path.Base(file.Name) {
	case configFile, lockFile:
		b.refuse(problem.Problem{
			Position: problem.Position{File: file.Name}, Rule: problem.RulePlatform,
			Message: "modules and policies are those of the Transforms in the cluster; keep this file out of " + shown(b.source.Spec.Path),
		})
		return
	}
	for doc, problems := range worker.Documents(file.Name, file.Data) {
		if len(b.problems) >= maxErrors {
			return
		}
		if problems != nil {
			b.problems = append(b.problems, problems...)
			continue
		}
		if b.document(ctx, doc); b.failure != nil {
			return
		}
	}
}

func (b *build) refuse(p problem.Problem) { b.problems = append(b.problems, p) }

// document renders an instance. An object of another kind is refused. If it were left out, it would
// be lost without a notice. If it were passed on, so would an instance whose Transform is gone, and
// Flux would delete its graph.
func (b *build) document(ctx context.Context, doc worker.Document) {
	e, found := b.entries[doc.Kind]
	if !found {
		e = b.Catalog.Get(doc.Kind)
		b.entries[doc.Kind] = e
	}
	switch {
	case e == nil:
		if b.failure = b.pending(ctx, doc); b.failure == nil {
			b.refuse(problem.Problem{Position: doc.Position, Path: "kind", Rule: problem.RulePlatform, Message: b.unknown(doc.Kind)})
		}
		return
	case e.Paused:
		b.failure = &failure{reason: reasonTransform, message: fmt.Sprintf("Transform %s is paused by its label %s", e.Transform, v1alpha1.LabelPaused), after: b.interval()}
		return
	}
	rendered, err := b.Evaluator.RenderDocument(ctx, e, doc, b.key.Namespace)
	var wrong problem.List
	switch {
	case errors.As(err, &wrong):
		b.problems = append(b.problems, wrong...)
	case err != nil:
		b.failure = &failure{reason: reasonEvaluation, message: source.OneLine(err.Error(), maxProblem)}
	case rendered.Graph == nil || rendered.Problems.Failed():
		b.problems = append(b.problems, rendered.Problems...)
	default:
		b.add(doc, rendered.Graph)
	}
}

// unknown returns why objects of a kind are refused.
func (b *build) unknown(kind schema.GroupKind) string {
	if kind.Group == v1alpha1.Group {
		return kind.Kind + " is not an instance; only instances are rendered, so keep it in the directory of another Kustomization"
	}
	name := kind.Kind
	if kind.Group != "" {
		name += " of " + kind.Group
	}
	return "no Transform generates the kind " + name + "; only instances are rendered, so keep other manifests in the directory of another Kustomization"
}

// add adds the graph of an instance.
func (b *build) add(doc worker.Document, rg *v1alpha1.ResourceGraph) {
	again := func(format string, args ...any) {
		b.refuse(problem.Problem{Position: doc.Position, Rule: problem.RuleDuplicate, Message: fmt.Sprintf(format, args...)})
	}
	key := rg.Namespace + "/" + rg.Name
	if at, ok := b.graphs[key]; ok {
		ref := rg.Spec.SourceRef
		again("%s %s stands at %s already", ref.Kind, strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/"), at)
		return
	}
	b.graphs[key] = doc.Position
	for _, clash := range b.claims.Add(doc.Position, graph.Read(rg).Owned()) {
		again("%s is rendered by %s already", clash.Object, clash.First)
	}
	manifest, err := yamlout.Marshal(rg)
	if err != nil {
		again("encoding the graph: %v", err)
		return
	}
	if b.size += len(manifest); b.size > maxManifests {
		b.failure = tooLarge("the graphs are", maxManifests)
		return
	}
	b.manifests = append(b.manifests, archive.File{Name: key + ".yaml", Data: manifest})
}

// pending returns a failure if a Transform that isn't ready has generated a kind of the same group as
// the instance, or nil.
func (b *build) pending(ctx context.Context, doc worker.Document) *failure {
	var all v1alpha1.TransformList
	if err := b.client.List(ctx, &all); err != nil {
		return &failure{reason: reasonTransform, message: "listing Transforms: " + err.Error()}
	}
	for _, t := range all.Items {
		key := client.ObjectKeyFromObject(&t)
		if !strings.HasSuffix(t.Status.GeneratedCRD, "."+doc.Kind.Group) || b.Catalog.Of(key) != nil || b.Transforms != nil && !b.Transforms(t.Namespace) {
			continue
		}
		return &failure{
			reason: reasonTransform, after: 10 * time.Second, waits: b.now.Sub(b.started) < b.Patience,
			message: source.OneLine(fmt.Sprintf("%s: kind: no Transform generates the kind %s yet; Transform %s isn't ready", doc.Position, doc.Kind, key), maxProblem),
		}
	}
	return nil
}

// identity returns a text that is the same as long as a platform renders the same: the digest covers
// the module, the policies, and the fields of the Transform that are evaluated.
func identity(e *catalog.Entry) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %t", e.Transform, e.Digest, e.Paused)
}

// pack returns the archive of manifests. Its time is constant, so that the same manifests give the
// same bytes.
func pack(manifests []archive.File) ([]byte, error) { return archive.Pack(manifests, time.Unix(0, 0)) }
