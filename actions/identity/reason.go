package identity

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// denied matches what the API server says about a service account without a right.
var denied = lazyregexp.New(`User "system:serviceaccount:[^:"]+:([^"]+)" (cannot .+)$`)

// Reason returns the reason of an error of the API server for people. A missing right is reported with
// the account, in the words of the API server.
func Reason(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return "not found"
	case apierrors.IsForbidden(err):
		if m := denied().FindStringSubmatch(err.Error()); m != nil {
			return fmt.Sprintf("service account %s %s; add this right to a Role of the account", m[1], m[2])
		}
	}
	return err.Error()
}
