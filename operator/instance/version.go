package instance

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
)

// choose selects the version that the instance is rendered with. It returns false if a rollout
// has yet to decide about an instance without a graph, and a refusal if the manager doesn't
// have the version.
func (t *task) choose(g *graphView) (bool, *refusal) {
	if pin, ok := t.instance.GetAnnotations()[v1alpha1.AnnotationPinnedVersion]; ok {
		if t.chosen = t.latest.At(pin); t.chosen == nil {
			t.chosen = t.latest
			return false, &refusal{reason: reasonVersionMissing, message: "the manager has no version " + pin +
				" of the module, which the annotation " + v1alpha1.AnnotationPinnedVersion + " demands"}
		}
		return true, nil
	}
	if t.latest.Rollout == nil {
		return true, nil
	}
	digest := ""
	if g != nil {
		digest = g.platform.Digest
	}
	if a := t.assignment.Load(); a != nil && a.To == t.latest.Module.Digest {
		switch key := t.key(); {
		case digest == "":
			digest = a.Create
		case a.Update[key]:
			digest = a.To
		case a.Restore[key]:
			digest = a.From
		}
	}
	if digest == "" {
		return false, nil
	}
	if t.chosen = t.latest.At(digest); t.chosen == nil {
		t.chosen = t.latest
		return false, &refusal{reason: reasonVersionMissing, message: "the manager has no sources of module " + digest +
			", which the instance has until the rollout reaches it"}
	}
	return true, nil
}

// forecast is the effect that the current version of the platform would have on an instance
// that has another one.
type forecast struct {
	// input identifies both renderings. It is zero if there is no forecast.
	input inputDigest
	outlook
	// failures counts the renderings in a row that failed for a reason that may pass, and retry
	// is when to try again.
	failures int
	retry    time.Time
}

// outlook is the result of a forecast.
type outlook struct {
	// from and to are the digests of the modules.
	from, to string
	// known is false if the rendering failed and is tried again.
	known bool
	// refused explains why the version refuses the instance, or is "".
	refused string
	// changed is set if the graph changes, and key identifies the way.
	changed bool
	key     objectdiff.GroupKey
}

// newlyValid is the key of instances that the version in use refuses: nothing shows how they
// change.
var newlyValid = objectdiff.GroupKey{Fields: sha256.Sum256([]byte("newly valid"))}

// maxForecasts is the number of renderings that may fail for a reason that may pass, before the
// version counts as one that refuses the instance.
const maxForecasts = 3

// forecast renders the instance with the current version, too, if a rollout needs to know how
// that changes it. from is the digest of its module. The manager may not have the sources of it:
// then nothing was rendered with them.
func (t *task) forecast(ctx context.Context, from string, rendered bool) {
	f := &t.memory.forecast
	_, pinned := t.instance.GetAnnotations()[v1alpha1.AnnotationPinnedVersion]
	if t.latest.Rollout == nil || pinned || from == t.latest.Module.Digest {
		*f = forecast{}
		return
	}
	input := t.inputOf(t.instance, t.latest, t.requested)
	if rendered {
		input = sha256.Sum256(append(input[:], t.memory.rendering.input[:]...))
	}
	if f.input != input {
		*f = forecast{input: input}
	} else if f.known && f.retry.IsZero() || t.now().Before(f.retry) {
		return
	}
	result := outlook{from: from, to: t.latest.Module.Digest, known: true}
	rg, problems, err := t.Renderer.Render(ctx, t.latest, t.instance)
	var wrong problem.List
	switch {
	case errors.As(err, &wrong):
		result.refused = refusalOf(wrong).message
	case err != nil:
		f.failures++
		f.retry = t.now().Add(min(minRetry<<min(f.failures-1, 10), maxRetry))
		if result.known = f.failures >= maxForecasts; result.known {
			result.refused = err.Error()
		}
		f.outlook = result
		return
	case problems.Failed() || rg == nil:
		result.refused = refusalOf(problems).message
	default:
		var was *v1alpha1.ResourceGraph
		if rendered {
			t.render(ctx, nil, true)
			was = t.memory.rendering.graph
		}
		if was == nil {
			result.changed, result.key = true, newlyValid
		} else if d, err := objectdiff.CompareGraphs(was, rg); err != nil {
			result.refused = err.Error()
		} else if result.changed = len(d.Objects) > 0; result.changed {
			in := objectdiff.Instance{Kind: t.group.Kind, Namespace: t.instance.GetNamespace(), Name: t.instance.GetName(), Graph: rg.Name}
			result.key = in.Key(d)
		}
	}
	f.outlook, f.failures, f.retry = result, 0, time.Time{}
}
