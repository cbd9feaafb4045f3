package transform

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen/compat"
	"github.com/pequod-io/pequod/operator/definitions"
)

// announce shows new content in the status before it is used, with its changes of the CRD.
func (s *session) announce(ctx context.Context, changes []compat.Change) error {
	resolved, module := s.t.Status.ResolvedCueRef, s.p.loaded.Module
	if resolved == nil || resolved.Digest == module.Digest {
		return nil
	}
	next := s.t.Status.DeepCopy()
	available := &v1alpha1.AvailableCueRef{
		Digest: module.Digest, Version: module.Version, SeenAt: metav1.NewTime(s.now), ChangeCount: len(changes),
		Breaking: len(definitions.Breaking(changes)) > 0,
	}
	for _, c := range changes[:min(len(changes), v1alpha1.MaxChanges)] {
		available.Changes = append(available.Changes, cut(definitions.Text(c), 512))
	}
	if old := next.AvailableCueRef; old != nil && old.Digest == available.Digest {
		available.SeenAt = old.SeenAt
	}
	known := next.AvailableCueRef != nil && next.AvailableCueRef.Digest == available.Digest
	next.AvailableCueRef = available
	if err := s.writeStatus(ctx, next); err != nil || known {
		return err
	}
	s.emit(corev1.EventTypeNormal, "NewModuleVersion", "Fetch", fmt.Sprintf("the module changed from %s to %s, with %d changes of the CRD",
		named(resolved.Version, resolved.Digest), named(module.Version, module.Digest), len(changes)))
	return nil
}

// named returns a version with its digest.
func named(version, digest string) string {
	if version == "" {
		return digest
	}
	return version + " (" + digest + ")"
}

// cut returns the first characters of a text.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
