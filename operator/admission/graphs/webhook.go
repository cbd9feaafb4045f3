package graphs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/rbac"
)

// timeout bounds the check of one request. It is shorter than the timeout of the webhook,
// 10 seconds, so that the author gets a message that names the cause.
const timeout = 8 * time.Second

// maxProblems is the number of problems in a message.
const maxProblems = 10

// Webhook answers the API server's reviews of requests that write ResourceGraphs. It is
// safe for concurrent use.
type Webhook struct {
	// account is the service account of graphs that name none; "" means that they have none.
	account string
	kinds   kinds
	reviews *reviews
}

// kinds finds the resources of kinds that the cluster serves.
type kinds interface {
	FindServed(context.Context, schema.GroupVersionKind) (cluster.Kind, schema.GroupVersionKind, error)
}

var _ admission.Handler = (*Webhook)(nil)

// New returns a webhook that asks the API server with the rights of config: it needs those
// to create SubjectAccessReviews and to list CustomResourceDefinitions. account is the
// service account of graphs that name none.
func New(config *rest.Config, client *http.Client, account string) (*Webhook, error) {
	access, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &Webhook{account: account, kinds: cluster.NewKinds(access.RESTClient()), reviews: newReviews(access.SubjectAccessReviews())}, nil
}

// Handle answers one request. Requests that change neither the spec of a graph nor the
// program that executes it are allowed without a check. A dry run is checked as any other
// request.
func (w *Webhook) Handle(ctx context.Context, request admission.Request) admission.Response {
	if request.SubResource != "" || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	if request.Kind.Group != v1alpha1.Group || request.Kind.Kind != "ResourceGraph" {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("%s is not a ResourceGraph", request.Kind.Kind))
	}
	rg, err := decode(request.Object.Raw, request.Namespace)
	var old *v1alpha1.ResourceGraph
	if err == nil && request.Operation == admissionv1.Update {
		old, err = decode(request.OldObject.Raw, request.Namespace)
	}
	switch {
	case err != nil:
		return admission.Errored(http.StatusBadRequest, err)
	case old != nil && equality.Semantic.DeepEqual(old.Spec, rg.Spec) && old.Labels[v1alpha1.LabelOperator] == rg.Labels[v1alpha1.LabelOperator]:
		return admission.Allowed("")
	}
	if problems := graph.Check(rg); len(problems) > 0 {
		return refuse(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, invalid(problems))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	author := &author{user: request.UserInfo, reviews: w.reviews, account: w.account}
	switch refusal, err := w.check(ctx, author, rg, old); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return refuse(http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
			fmt.Sprintf("the rights of user %q could not be checked within %s; try again", request.UserInfo.Username, timeout))
	case err != nil:
		return refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError,
			fmt.Sprintf("the rights of user %q could not be checked; try again: %v", request.UserInfo.Username, err))
	case refusal != "":
		return refuse(http.StatusForbidden, metav1.StatusReasonForbidden, refusal)
	}
	return admission.Allowed("")
}

// check returns why the author may not write the graph, or "".
func (w *Webhook) check(ctx context.Context, a *author, rg, old *v1alpha1.ResourceGraph) (string, error) {
	if free, err := a.mayImpersonate(ctx, rg, "", "impersonate"); free || err != nil {
		return "", err
	}
	needed, err := w.needed(ctx, rg, old)
	var unknown *rbac.UnknownKindError
	switch {
	case errors.As(err, &unknown), errors.Is(err, rbac.ErrTooManyRights):
		return a.refusal(rg, fmt.Sprintf("cannot be compared with what the nodes of the graph do: %v", err)), nil
	case err != nil:
		return "", err
	}
	return a.check(ctx, rg, needed)
}

// needed returns the rights that an author of rg needs. old is the graph before an update,
// or nil.
func (w *Webhook) needed(ctx context.Context, rg, old *v1alpha1.ResourceGraph) ([]rbac.NodeRight, error) {
	resources := rbac.Resources{}
	if err := w.findKinds(ctx, rg, resources); err != nil {
		return nil, err
	}
	needed, err := rbac.Rights(rg, resources)
	if err != nil || old == nil {
		return needed, err
	}
	// Whether an object that leaves the graph is deleted may follow from either version.
	if before := rg.Spec.DeletionPolicy; before != v1alpha1.DeletionOrphan {
		old = old.DeepCopy()
		old.Spec.DeletionPolicy = before
	}
	if err := w.findKinds(ctx, old, resources); err != nil {
		return nil, err
	}
	// Objects of a kind that isn't served can't be deleted, and their nodes must not stay
	// in the graph for ever, so an unknown kind is no error here.
	left, err := rbac.Rights(old, resources)
	if errors.Is(err, rbac.ErrTooManyRights) {
		return nil, err
	}
	kept := map[rbac.Right]bool{}
	for _, right := range needed {
		kept[object(right.Right)] = true
	}
	for _, right := range left {
		if right.Verb == "delete" && !right.Escalation && !kept[object(right.Right)] {
			needed = append(needed, right)
		}
	}
	return needed, nil
}

// object returns a right without its verb.
func object(r rbac.Right) rbac.Right {
	r.Verb = ""
	return r
}

// findKinds adds the resources of the graph's kinds that aren't built in to resources. A
// kind that the cluster doesn't serve is left out.
func (w *Webhook) findKinds(ctx context.Context, rg *v1alpha1.ResourceGraph, resources rbac.Resources) error {
	if rg.Spec.KubeConfig != nil {
		return nil // they are those of another cluster
	}
	tried := map[schema.GroupKind]bool{}
	for _, n := range graph.ReadObjects(rg).Nodes {
		gvk := schema.FromAPIVersionAndKind(n.Object.APIVersion, n.Object.Kind)
		gk := gvk.GroupKind()
		if _, known := graph.ClusterScoped(gk); known || tried[gk] {
			continue
		}
		tried[gk] = true
		kind, _, err := w.kinds.FindServed(ctx, gvk)
		var no *cluster.NoKindError
		switch {
		case errors.As(err, &no):
		case err != nil:
			return fmt.Errorf("node %s: %w", n.ID, err)
		default:
			resources[gk] = rbac.Resource{Name: kind.Resource.Resource, Namespaced: kind.Namespaced}
		}
	}
	return nil
}

// decode reads a graph of the API server. The namespace is that of the request.
func decode(raw []byte, namespace string) (*v1alpha1.ResourceGraph, error) {
	rg := &v1alpha1.ResourceGraph{}
	if err := json.Unmarshal(raw, rg); err != nil {
		return nil, fmt.Errorf("reading the ResourceGraph: %w", err)
	}
	rg.Namespace = namespace
	return rg, nil
}

// invalid returns the message about a graph with problems.
func invalid(problems []graph.Problem) string {
	var lines []string
	for _, p := range problems[:min(len(problems), maxProblems)] {
		lines = append(lines, p.String())
	}
	if more := len(problems) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("%d more problems", more))
	}
	return "the graph is invalid: " + strings.Join(lines, "; ")
}

// refuse returns an answer that refuses the request. The API server gives its client the
// code, the reason and the message.
func refuse(code int32, reason metav1.StatusReason, message string) admission.Response {
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Result: &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message},
	}}
}
