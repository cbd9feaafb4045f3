package identity

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// Reason returns the reason of an error of the API server for people. For the most frequent errors
// it is a few words, which don't name the account and the resource.
func Reason(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return "not found"
	case apierrors.IsForbidden(err):
		return "the service account has no right to it"
	}
	return err.Error()
}
