package cluster

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
)

// The limits of requests.
const (
	// requestTimeout bounds every request except watches.
	requestTimeout = 30 * time.Second
	// pageSize is the number of objects that one list request asks for.
	pageSize = 500
	// keptPageSize is the same for lists whose objects are mostly dropped. They may be
	// large, and those of a page are in memory together.
	keptPageSize = 50
)

// ResponseBody returns the body of a response. The error is the Status that the
// API server sent, which [rest.Result.Raw] doesn't decode.
func ResponseBody(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// decodeObject returns the object in a response. ([rest.Result.Into] would decode
// the body twice, first for its kind.)
func decodeObject(result rest.Result) (*unstructured.Unstructured, error) {
	raw, err := ResponseBody(result)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, utiljson.Unmarshal(raw, &obj.Object)
}

// isPathNotServed reports whether an error is the API server's response to a URL
// path that it doesn't serve. Unlike the response for a missing object, it names
// no object.
func isPathNotServed(err error) bool {
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		return false
	}
	d := status.Status().Details
	return d == nil || d.Name == "" && len(d.Causes) > 0 && d.Causes[0].Type == metav1.CauseTypeUnexpectedServerResponse
}
