package notify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/outbox"
)

// Format is a format of notices.
type Format string

// The formats.
const (
	// Flux is that of Flux' controllers.
	Flux Format = "flux"
	// CloudEvents is CloudEvents 1.0 in the structured mode of HTTP.
	CloudEvents Format = "cloudevents"
)

// ParseFormat returns the format of a name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case Flux, CloudEvents:
		return f, nil
	}
	return "", fmt.Errorf("%q is neither %s nor %s", name, Flux, CloudEvents)
}

// Encode returns the body of a request, and its headers.
func (f Format) Encode(n Notice) (http.Header, []byte, error) {
	if f == Flux {
		body, err := json.Marshal(fluxEvent(n))
		return http.Header{"Content-Type": {"application/json"}}, body, err
	}
	e, err := cloudEvent(n)
	if err != nil {
		return nil, nil, err
	}
	body, err := json.Marshal(e)
	return http.Header{"Content-Type": {event.ApplicationCloudEventsJSON}}, body, err
}

// Verdict decides about the answer of a server.
func (f Format) Verdict(answer *egress.Response) outbox.Verdict {
	if f == Flux && answer.Status == http.StatusTooManyRequests {
		// notification-controller had the same event in the last five minutes, and its own
		// clients don't repeat it.
		return outbox.Delivered
	}
	return outbox.Answer(answer)
}

func severity(n Notice) string {
	if n.Failed {
		return eventv1.EventSeverityError
	}
	return eventv1.EventSeverityInfo
}

// fluxEvent returns the event of Flux. Alerts select kinds of Flux only, so an object that Flux
// applied is reported as part of what applied it.
func fluxEvent(n Notice) eventv1.Event {
	e := eventv1.Event{
		InvolvedObject: n.Object, Severity: severity(n), Timestamp: metav1.NewTime(n.At), Message: n.Message, Reason: n.Reason,
		ReportingController: n.Reporter, ReportingInstance: n.Instance,
	}
	if n.Applied != nil {
		e.InvolvedObject, e.Message = *n.Applied, of(n.Object)+": "+n.Message
	}
	// notification-controller keeps metadata whose keys begin with the group of the object.
	group, _, _ := strings.Cut(e.InvolvedObject.APIVersion, "/")
	e.Metadata = map[string]string{}
	add := func(key, value string) {
		if value != "" {
			e.Metadata[group+"/"+key] = value
		}
	}
	if n.Applied != nil {
		add("object", of(n.Object))
	}
	add(eventv1.MetaRevisionKey, n.Revision.Source)
	add(eventv1.MetaOriginRevisionKey, n.Revision.Origin)
	if n.Generation > 0 {
		// It distinguishes events with the same message, which Flux would not show again.
		add(eventv1.MetaTokenKey, fmt.Sprint(n.Generation))
	}
	return e
}

// data is the data of a CloudEvent.
type data struct {
	Object              corev1.ObjectReference  `json:"object"`
	AppliedBy           *corev1.ObjectReference `json:"appliedBy,omitempty"`
	Revision            string                  `json:"revision,omitempty"`
	OriginRevision      string                  `json:"originRevision,omitempty"`
	Severity            string                  `json:"severity"`
	Reason              string                  `json:"reason"`
	Message             string                  `json:"message"`
	Count               int                     `json:"count"`
	Generation          int64                   `json:"generation,omitempty"`
	ReportingController string                  `json:"reportingController"`
	ReportingInstance   string                  `json:"reportingInstance,omitempty"`
}

// cloudEvent returns the CloudEvent of a notice.
func cloudEvent(n Notice) (event.Event, error) {
	resource := cmp.Or(n.Resource, strings.ToLower(n.Object.Kind))
	if n.Object.Namespace != "" {
		resource = "namespaces/" + n.Object.Namespace + "/" + resource
	}
	e := event.New(event.CloudEventsVersionV1)
	e.SetID(n.ID)
	e.SetType("io.pequod." + strings.ToLower(n.Object.Kind) + "." + n.Reason)
	e.SetSource("/apis/" + n.Object.APIVersion + "/" + resource + "/" + n.Object.Name)
	e.SetSubject(path(n.Object))
	e.SetTime(n.At)
	e.SetExtension("severity", severity(n))
	err := e.SetData(event.ApplicationJSON, data{
		Object: n.Object, AppliedBy: n.Applied, Revision: n.Revision.Source, OriginRevision: n.Revision.Origin, Severity: severity(n), Reason: n.Reason, Message: n.Message, Count: n.Count,
		Generation: n.Generation, ReportingController: n.Reporter, ReportingInstance: n.Instance,
	})
	if err != nil {
		return e, err
	}
	return e, e.Validate()
}
