package instances

import (
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/operator/catalog"
)

// conditionPrefix begins the names of the match conditions of this package. Others, such as
// those of the certificate's keeper, are left alone.
const conditionPrefix = "instance-"

// nameOf returns the name of the webhook of a kind, which is that of its CRD.
func nameOf(e *catalog.Entry) string { return e.Names.Plural + "." + e.Names.Group }

// isOwn reports whether a webhook is one of this package.
func isOwn(w *admissionregistrationv1.ValidatingWebhook) bool {
	switch c := w.ClientConfig; {
	case c.Service != nil && c.Service.Path != nil:
		return *c.Service.Path == serve.InstancesPath
	case c.URL != nil:
		return strings.HasSuffix(*c.URL, serve.InstancesPath)
	}
	return false
}

// webhook returns the webhook of an entry. like is another webhook of the program, and live is
// the webhook that the configuration has, or nil. All fields are set that the API server
// would set, so that both can be compared.
func (r *Registration) webhook(e *catalog.Entry, like, live *admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhook {
	scope := admissionregistrationv1.NamespacedScope
	if e.Names.Scope == v1alpha1.ScopeCluster {
		scope = admissionregistrationv1.ClusterScope
	}
	w := admissionregistrationv1.ValidatingWebhook{
		Name: nameOf(e), ClientConfig: clientConfig(like.ClientConfig),
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{e.Names.Group}, APIVersions: versions(e), Resources: []string{e.Names.Plural}, Scope: &scope,
			},
		}},
		FailurePolicy: &r.FailurePolicy, MatchPolicy: new(admissionregistrationv1.Equivalent), SideEffects: new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds: new(int32(timeoutSeconds)), AdmissionReviewVersions: []string{"v1"},
		ObjectSelector: &metav1.LabelSelector{},
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{metav1.NamespaceSystem, r.Namespace},
		}}},
		MatchConditions: conditions(e),
	}
	if live == nil {
		return w
	}
	var others, own []admissionregistrationv1.MatchCondition
	for _, c := range live.MatchConditions {
		if strings.HasPrefix(c.Name, conditionPrefix) {
			own = append(own, c)
		} else {
			others = append(others, c)
		}
	}
	if slices.Equal(own, w.MatchConditions) {
		w.MatchConditions = live.MatchConditions // the order of all
	} else {
		w.MatchConditions = append(w.MatchConditions, others...)
	}
	return w
}

// clientConfig returns how the API server reaches the webhook of instances, from how it reaches
// another one.
func clientConfig(like admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.WebhookClientConfig {
	c := *like.DeepCopy()
	if c.Service != nil {
		c.Service.Path = new(serve.InstancesPath)
	}
	if c.URL != nil {
		if u, err := url.Parse(*c.URL); err == nil { // the API server has accepted it
			u.Path = serve.InstancesPath
			c.URL = new(u.String())
		}
	}
	return c
}

// versions returns the served versions of a kind.
func versions(e *catalog.Entry) []string {
	var served []string
	for _, v := range e.Names.Versions {
		if v.Served {
			served = append(served, v.Name)
		}
	}
	if len(served) == 0 {
		served = []string{e.Names.Version}
	}
	return served
}

// conditions returns the conditions of requests that are checked: they change what rendering
// reads. An instance that was accepted before its module changed can still lose a finalizer.
func conditions(e *catalog.Entry) []admissionregistrationv1.MatchCondition {
	changes := []string{`request.operation == "CREATE"`, "object.?spec != oldObject.?spec", "object.?graphNamespace != oldObject.?graphNamespace"}
	if !e.IgnoresLabels {
		changes = append(changes, "object.metadata.?labels != oldObject.metadata.?labels")
	}
	if e.IgnoresAnnotations {
		for _, name := range []string{v1alpha1.AnnotationAdopt, v1alpha1.AnnotationPinnedVersion} {
			changes = append(changes, `object.metadata.?annotations[?"`+name+`"] != oldObject.metadata.?annotations[?"`+name+`"]`)
		}
	} else {
		changes = append(changes, "object.metadata.?annotations != oldObject.metadata.?annotations")
	}
	return []admissionregistrationv1.MatchCondition{
		{Name: conditionPrefix + "changes", Expression: strings.Join(changes, " || ")},
		{Name: conditionPrefix + "stays", Expression: "!object.metadata.?deletionTimestamp.hasValue()"},
	}
}
