package effect

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

const (
	// managerPrefix is the beginning of the field managers of Receivers that apply objects.
	managerPrefix = "pequod-receiver/"
	// maxManager is the size of a field manager that the API server takes.
	maxManager = 128
)

// managerOf returns the field manager of a Receiver. Two Receivers that share one would remove each
// other's fields. A Receiver that is made again with its name goes on with its fields.
func managerOf(receiver string) string {
	if name := managerPrefix + receiver; len(name) <= maxManager {
		return name
	}
	sum := sha256.Sum256([]byte(receiver))
	digest := "." + hex.EncodeToString(sum[:8])
	return managerPrefix + receiver[:maxManager-len(managerPrefix)-len(digest)] + digest
}

// conflicts reports whether a write conflicts with fields of other managers.
func conflicts(err error) bool {
	return apierrors.IsConflict(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// conflictsInReceipts reports whether the annotation with receipts is all that a write conflicts in.
func conflictsInReceipts(err error) bool {
	var status apierrors.APIStatus
	if !conflicts(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return !slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type != metav1.CauseTypeFieldManagerConflict || c.Field != ".metadata.annotations."+v1alpha1.AnnotationReceived
	})
}
