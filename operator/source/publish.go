package source

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// originRevision is the key in the metadata of an artifact whose value Flux shows as the revision of
// its origin.
const originRevision = "org.opencontainers.image.revision"

// externalStatus is the status of an ExternalArtifact.
type externalStatus struct {
	Artifact   *meta.Artifact     `json:"artifact,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// external is an ExternalArtifact as it is in the cluster.
type external struct {
	object *unstructured.Unstructured
	status externalStatus
}

func (s *session) externals() dynamic.ResourceInterface {
	return s.dynamic.Resource(fluxVersion.WithResource(resources[v1alpha1.FluxExternalArtifact])).Namespace(s.key.Namespace)
}

// publish writes the result to the ExternalArtifact if it lacks it, and returns the artifact. An
// ExternalArtifact that belongs to something else is never changed.
func (s *session) publish(ctx context.Context) (*meta.Artifact, *failure, error) {
	shown, f := s.flux.get(ctx, v1alpha1.FluxExternalArtifact, s.key)
	if f != nil {
		return nil, f, nil
	}
	// The informer may be behind, so nothing is written on its word. But if it shows the result, a
	// write isn't needed; if that is outdated, the next event leads here again.
	if live := viewOf(shown); live != nil && s.owns(live) && live.object.GetDeletionTimestamp() == nil {
		if want := s.wanted(live); equality.Semantic.DeepEqual(want, live.status) && s.sameSpec(live) {
			return want.Artifact, nil, nil
		}
	}
	live, f, err := s.find(ctx)
	if f != nil || err != nil {
		return nil, f, err
	}
	if live == nil || !s.owns(live) || !s.sameSpec(live) {
		if live, err = s.writeExternal(ctx, live); err != nil {
			return nil, publishFailed(err), unlessRefused(err)
		}
	}
	want := s.wanted(live)
	if !equality.Semantic.DeepEqual(want, live.status) {
		if err := s.writeExternalStatus(ctx, live, want); err != nil {
			return nil, publishFailed(err), unlessRefused(err)
		}
	}
	return want.Artifact, nil, nil
}

// publishFailure writes a failure to the conditions of the ExternalArtifact, if there is one. Its
// artifact stays.
func (s *session) publishFailure(ctx context.Context, f *failure) error {
	if s.source.Status.Artifact == nil || f.waits {
		return nil
	}
	want := func(live *external) externalStatus {
		return externalStatus{Artifact: live.status.Artifact, Conditions: s.conditions(live, metav1.ConditionFalse, f.reason, f.message)}
	}
	object, hidden := s.flux.get(ctx, v1alpha1.FluxExternalArtifact, s.key)
	if shown := viewOf(object); hidden != nil || shown == nil || !s.owns(shown) || equality.Semantic.DeepEqual(want(shown), shown.status) {
		return nil
	}
	// The informer may still show the artifact before the last one, which must not be written again.
	live, other, err := s.find(ctx)
	if live == nil || other != nil || err != nil {
		return err
	}
	return unlessRefused(ignoreGone(s.writeExternalStatus(ctx, live, want(live))))
}

// viewOf returns the view of an object, or nil if there is none.
func viewOf(object *unstructured.Unstructured) *external {
	if object == nil {
		return nil
	}
	e := &external{object: object}
	if status, found, err := unstructured.NestedMap(object.Object, "status"); err == nil && found {
		// A status that can't be decoded counts as empty, and is written again.
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(status, &e.status)
	}
	return e
}

// owns reports whether the ExternalArtifact belongs to the InstanceSource.
func (s *session) owns(e *external) bool {
	owner := metav1.GetControllerOf(e.object)
	return owner != nil && owner.UID == s.source.UID
}

// find reads the ExternalArtifact. It returns nil if there is none, and a failure if it belongs to
// something else. An ExternalArtifact without an owner whose spec names this InstanceSource was
// orphaned or restored from a backup, so it is taken over.
func (s *session) find(ctx context.Context) (*external, *failure, error) {
	object, err := s.externals().Get(ctx, s.key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, publishFailed(err), unlessRefused(err)
	}
	live := viewOf(object)
	name := "ExternalArtifact " + s.key.String()
	owner := metav1.GetControllerOf(object)
	switch {
	case owner != nil && owner.Kind == "InstanceSource" && owner.Name == s.key.Name && owner.UID != s.source.UID, object.GetDeletionTimestamp() != nil:
		return nil, &failure{reason: reasonExists, message: name + " is being deleted; the next one is written after that"}, nil
	case owner == nil && !s.sameSpec(live):
		return nil, &failure{reason: reasonExists, stalled: true, message: name + " exists and wasn't made by pequod-manager; delete it, or give the InstanceSource another name"}, nil
	case owner != nil && owner.UID != s.source.UID:
		return nil, &failure{reason: reasonExists, stalled: true, message: name + " belongs to " + owner.Kind + " " + owner.Name + "; give the InstanceSource another name"}, nil
	}
	return live, nil, nil
}

// spec returns the spec of the ExternalArtifact.
func (s *session) spec() map[string]any {
	return map[string]any{"sourceRef": map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "InstanceSource", "name": s.key.Name, "namespace": s.key.Namespace,
	}}
}

func (s *session) sameSpec(live *external) bool {
	spec, _, _ := unstructured.NestedMap(live.object.Object, "spec")
	return equality.Semantic.DeepEqual(spec, s.spec())
}

// writeExternal creates the ExternalArtifact, or corrects its spec. Its status stays.
func (s *session) writeExternal(ctx context.Context, live *external) (*external, error) {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": s.spec()}}
	object.SetGroupVersionKind(fluxVersion.WithKind(string(v1alpha1.FluxExternalArtifact)))
	object.SetNamespace(s.key.Namespace)
	object.SetName(s.key.Name)
	object.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy})
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "InstanceSource", Name: s.key.Name, UID: s.source.UID,
		Controller: new(true),
	}})
	if live == nil {
		// Creating fails if another one was made meanwhile. Applying would take it over.
		made, err := s.externals().Create(ctx, object, metav1.CreateOptions{FieldManager: v1alpha1.ManagerProgram})
		return viewOf(made), err
	}
	object.SetUID(live.object.GetUID())
	changed, err := s.externals().Apply(ctx, s.key.Name, object, metav1.ApplyOptions{FieldManager: v1alpha1.ManagerProgram, Force: true})
	return viewOf(changed), err
}

// wanted returns the status for the result. If the live status has the archive already, its artifact
// stays except for the address, so that Flux has nothing to do.
func (s *session) wanted(live *external) externalStatus {
	r := s.memory.result
	file := path.Join(s.key.Namespace, s.key.Name, strings.TrimPrefix(r.digest, "sha256:")+".tar.gz")
	a := live.status.Artifact.DeepCopy()
	if a == nil || a.Digest != r.digest {
		name, _, _ := strings.Cut(r.revision, "@")
		if strings.Contains(name, ":") {
			name = "latest" // the revision of a Bucket is a digest alone
		}
		a = &meta.Artifact{
			Digest: r.digest, Revision: name + "@" + r.digest, LastUpdateTime: metav1.NewTime(s.now.Truncate(1e9)), Size: new(r.size),
			Metadata: map[string]string{originRevision: r.revision},
		}
	}
	a.Path, a.URL = file, strings.TrimSuffix(s.URL, "/")+"/artifacts/"+file
	return externalStatus{Artifact: a, Conditions: s.conditions(live, metav1.ConditionTrue, reasonSucceeded, "stored artifact for revision "+a.Revision)}
}

// conditions returns the conditions of the ExternalArtifact.
func (s *session) conditions(live *external, value metav1.ConditionStatus, reason, message string) []metav1.Condition {
	var conditions []metav1.Condition
	if old := apimeta.FindStatusCondition(live.status.Conditions, v1alpha1.ConditionReady); old != nil {
		conditions = []metav1.Condition{*old}
	}
	apimeta.SetStatusCondition(&conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: value, Reason: reason, Message: message, ObservedGeneration: live.object.GetGeneration(),
		LastTransitionTime: metav1.NewTime(s.now.Truncate(1e9)),
	})
	return conditions
}

// writeExternalStatus writes the status of the ExternalArtifact with the UID of live.
func (s *session) writeExternalStatus(ctx context.Context, live *external, status externalStatus) error {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": fluxVersion.String(), "kind": v1alpha1.FluxExternalArtifact,
		"metadata": map[string]any{"name": s.key.Name, "namespace": s.key.Namespace, "uid": live.object.GetUID()},
		"status":   status,
	})
	if err != nil {
		return err
	}
	_, err = s.externals().Patch(ctx, s.key.Name, types.ApplyPatchType, raw, metav1.PatchOptions{FieldManager: v1alpha1.ManagerProgram, Force: new(true)}, "status")
	return err
}

// served returns the digests of the archives that readers may fetch: that of the ExternalArtifact, and
// what this process or one before it has published last, if informers are behind. Some can be "".
func (s *session) served(ctx context.Context) []string {
	digests := []string{s.memory.published}
	if before := s.source.Status.Artifact; before != nil {
		digests = append(digests, before.Digest)
	}
	shown, _ := s.flux.get(ctx, v1alpha1.FluxExternalArtifact, s.key) // without it, publish fails
	if live := viewOf(shown); live != nil && live.status.Artifact != nil {
		digests = append(digests, live.status.Artifact.Digest)
	}
	return digests
}

// kept returns the digests of the archives that stay: the published one, and the one before it, which
// Flux may be about to fetch.
func (s *session) kept(published *meta.Artifact) []string {
	m := s.memory
	if before := s.source.Status.Artifact; m.published == "" && before != nil {
		m.published = before.Digest // by a process before this one
	}
	if m.published != published.Digest {
		m.former, m.published = m.published, published.Digest
	}
	return []string{m.published, m.former}
}

// publishFailed returns the failure for a request that the API server refuses, or nil for other
// errors.
func publishFailed(err error) *failure {
	if unlessRefused(err) != nil {
		return nil
	}
	return &failure{reason: reasonPublish, message: err.Error()}
}

// unlessRefused returns err unless the API server will refuse the request again.
func unlessRefused(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return nil
	}
	return err
}

// ignoreGone returns err unless the object is gone or was replaced.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
