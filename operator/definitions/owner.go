package definitions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// fieldManager is the field manager of definitions that a manager applied.
const fieldManager = v1alpha1.ManagerProgram

// Applied reports whether a manager applied a definition for a Transform. Definitions of earlier
// versions don't name its namespace; its status then tells whether it is this one.
func Applied(live *apiextensionsv1.CustomResourceDefinition, t *v1alpha1.Transform) bool {
	namespace, named := live.Labels[v1alpha1.LabelTransformNamespace]
	return live.Labels[v1alpha1.LabelTransform] == v1alpha1.LabelValue(t.Name) && appliedByManager(live) &&
		(namespace == t.Namespace || !named && t.Status.GeneratedCRD == live.Name)
}

// Adoptable returns how a Transform may take over the definition of others, or "" if it may. Both
// sides have to agree: the Transform by its spec, and whoever may change the definition by an
// annotation.
func Adoptable(live *apiextensionsv1.CustomResourceDefinition, t *v1alpha1.Transform) (how string) {
	var missing []string
	if !slices.Contains(t.Spec.AdoptCRDs, live.Name) {
		missing = append(missing, "list it in spec.adoptCRDs")
	}
	if by := t.Namespace + "/" + t.Name; live.Annotations[v1alpha1.AnnotationAdoptBy] != by {
		missing = append(missing, fmt.Sprintf("let its owner agree with 'kubectl annotate crd %s %s=%s'", live.Name, v1alpha1.AnnotationAdoptBy, by))
	}
	if len(missing) == 0 {
		return ""
	}
	return "to take it over, " + strings.Join(missing, ", and ")
}

// appliedByManager reports whether the field manager of the manager has applied fields. Others
// may set the label, but writing as this field manager is no accident.
func appliedByManager(live *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(live.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == fieldManager && m.Operation == metav1.ManagedFieldsOperationApply
	})
}

// Owner describes who made a definition, for the message of a refusal.
func Owner(live *apiextensionsv1.CustomResourceDefinition) string {
	if name := live.Labels[v1alpha1.LabelTransform]; name != "" && appliedByManager(live) {
		if namespace := live.Labels[v1alpha1.LabelTransformNamespace]; namespace != "" {
			name = namespace + "/" + name
		}
		return "it was generated for Transform " + name
	}
	var managers []string
	for _, m := range live.ManagedFields {
		if m.Subresource == "" && !slices.Contains(managers, m.Manager) {
			managers = append(managers, m.Manager)
		}
	}
	if release := live.Annotations["meta.helm.sh/release-name"]; release != "" {
		return "it belongs to Helm release " + live.Annotations["meta.helm.sh/release-namespace"] + "/" + release
	}
	if len(managers) == 0 {
		return "nothing names its owner"
	}
	return "it was written by " + strings.Join(managers, ", ")
}

// reserved are the groups whose kinds must not be generated: those of Kubernetes, and those of
// Pequod itself.
var reserved = []string{"k8s.io", "kubernetes.io", v1alpha1.Group}

// Reserved returns an error if a group is one of Kubernetes or of Pequod, or below one.
func Reserved(group string) error {
	for _, r := range reserved {
		if group == r || strings.HasSuffix(group, "."+r) {
			return fmt.Errorf("the group %s is reserved: *.%s can't have generated kinds", group, r)
		}
	}
	return nil
}

// AppliedAt returns the time at which a manager changed a definition last, in whole seconds.
func AppliedAt(live *apiextensionsv1.CustomResourceDefinition) (at time.Time) {
	for _, m := range live.ManagedFields {
		if m.Manager == fieldManager && m.Subresource == "" && m.Time != nil && m.Time.After(at) {
			at = m.Time.Time
		}
	}
	return at
}

// Edited reports whether others have written fields of a definition that a manager applied.
func Edited(live *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(live.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager != fieldManager && m.Subresource == ""
	})
}
