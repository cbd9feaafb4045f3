package serve

import (
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/pequod-io/pequod/internal/problem"
)

// maxProblems is the number of problems in a message.
const maxProblems = 10

// Invalid returns the refusal of an object with problems. Problems that are no errors are left
// out. The message has a line for each, and so have the causes, which kubectl prints
// in place of the message.
func Invalid(kind schema.GroupKind, name string, problems problem.List) admission.Response {
	var lines []string
	var causes []metav1.StatusCause
	complete := true
	for _, p := range problems {
		if p.Severity != problem.Error {
			continue
		}
		lines = append(lines, p.String())
		path := p.Path
		complete = complete && path != "" && p.Position.File == ""
		p.Path = ""
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: path, Message: p.String()})
	}
	if more := len(lines) - maxProblems; more > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("%d more problems", more))
		complete = false
	}
	status := &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: strings.Join(lines, "\n"),
	}
	// Clients print field and message of a cause, which must not be less than the message.
	if complete {
		status.Details = &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: name, Causes: causes}
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: status}}
}
