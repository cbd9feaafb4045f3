package effect

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

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
func managerOf(receiver string) string { return shortened(receiver, maxManager) }

// shortened returns the field manager of a Receiver with limited size.
func shortened(receiver string, size int) string {
	if name := managerPrefix + receiver; len(name) <= size {
		return name
	}
	sum := sha256.Sum256([]byte(receiver))
	digest := "." + hex.EncodeToString(sum[:8])
	return managerPrefix + receiver[:size-len(managerPrefix)-len(digest)] + digest
}

// creatorOf returns the field manager for an object that a Receiver creates. No attempt to create an
// object has the manager of another one, so it conflicts with the receipts of all others: it can't
// overwrite them. The manager owns the fields of the Receiver for as long as the object exists.
func creatorOf(receiver, attempt string) string { return creators(receiver) + attempt }

// creators is the beginning of the managers of all attempts of a Receiver to create objects.
func creators(receiver string) string { return shortened(receiver, maxManager-attemptSize-1) + "/" }

// attemptSize is the length of the name of an attempt.
const attemptSize = 26

// applied reports whether a Receiver has applied fields of an object.
func applied(fields metav1.ManagedFieldsEntry, receiver string) bool {
	return fields.Operation == metav1.ManagedFieldsOperationApply && fields.Subresource == "" &&
		(fields.Manager == managerOf(receiver) || strings.HasPrefix(fields.Manager, creators(receiver)))
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
