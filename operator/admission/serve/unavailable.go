package serve

import (
	"context"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Unavailable returns the response of a webhook that can't decide. The API server does not get
// it as a refusal but as a failed call, which it handles by the failurePolicy of the webhook.
func Unavailable(message string) admission.Response {
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Result: &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Message: message},
	}}
}

// failureKey is the key of the message of a failed call in a context, as a *string.
type failureKey struct{}

// failing returns the handler of HTTP requests for a webhook that may be [Unavailable].
func failing(webhook admission.Handler) http.Handler {
	next := &admission.Webhook{LogConstructor: logReviews, Handler: admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		response := webhook.Handle(ctx, request)
		if failure, ok := ctx.Value(failureKey{}).(*string); ok && !response.Allowed && response.Result.Code == http.StatusServiceUnavailable {
			*failure = response.Result.Message
		}
		return response
	})}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var failure string
		next.ServeHTTP(&failingWriter{w, &failure}, r.WithContext(context.WithValue(r.Context(), failureKey{}, &failure)))
	})
}

// failingWriter replaces the answer of a webhook by an error if there is a failure.
type failingWriter struct {
	http.ResponseWriter
	failure *string
}

// Write writes the answer, which is one call. The code is 500: of other codes, the API server
// does not show the message.
func (w *failingWriter) Write(data []byte) (int, error) {
	if *w.failure == "" {
		return w.ResponseWriter.Write(data)
	}
	http.Error(w.ResponseWriter, *w.failure, http.StatusInternalServerError)
	return len(data), nil
}
