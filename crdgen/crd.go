package crdgen

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source/yamlout"
)

// newCRD returns the definition of the kind that names describes, without
// versions. The object has no status; [internalOf] completes a copy.
func newCRD(names v1alpha1.Names) *apiextensionsv1.CustomResourceDefinition {
	scope := apiextensionsv1.NamespaceScoped
	if names.Scope == v1alpha1.ScopeCluster {
		scope = apiextensionsv1.ClusterScoped
	}
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{
			Name: names.Plural + "." + names.Group,
			Labels: map[string]string{
				v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
				v1alpha1.LabelManaged:   "true",
				v1alpha1.LabelTransform: v1alpha1.LabelValue(names.Transform),
			},
			// A GitOps sync that no longer lists the CRD must not delete it,
			// because all instances would be deleted with it.
			Annotations: map[string]string{
				"argocd.argoproj.io/sync-options":   "Prune=false",
				"kustomize.toolkit.fluxcd.io/prune": "disabled",
			},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: names.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind:       names.Kind,
				ListKind:   names.Kind + "List",
				Plural:     names.Plural,
				Singular:   names.Singular,
				ShortNames: names.ShortNames,
				Categories: names.Categories,
			},
			Scope: scope,
		},
	}
}

// newVersion wraps the schemas of spec and status as a version. The version
// names.Version is the one that is stored. Every version has the status
// subresource, because the controller writes the status on its own.
func newVersion(names v1alpha1.Names, v v1alpha1.KindVersion, s *written) apiextensionsv1.CustomResourceDefinitionVersion {
	out := apiextensionsv1.CustomResourceDefinitionVersion{
		Name:                     v.Name,
		Served:                   v.Served,
		Storage:                  v.Name == names.Version,
		Deprecated:               v.Deprecated,
		Schema:                   &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: rootSchema(names.Scope, s)},
		Subresources:             &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}, Scale: s.scale},
		AdditionalPrinterColumns: printerColumns(names.PrinterColumns, s.columns),
	}
	if v.Deprecated && v.DeprecationWarning != "" {
		out.DeprecationWarning = &v.DeprecationWarning
	}
	return out
}

// rootSchema returns the schema of the whole object. The API server adds the
// schemas of the type and object metadata. For a cluster-scoped kind it adds the
// required field graphNamespace, since the graph of an instance is namespaced.
func rootSchema(scope v1alpha1.Scope, s *written) *apiextensionsv1.JSONSchemaProps {
	root := &apiextensionsv1.JSONSchemaProps{
		Type:        "object",
		Description: s.spec.Description,
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"apiVersion": {Type: "string"},
			"kind":       {Type: "string"},
			"metadata":   {Type: "object"},
			"spec":       s.spec,
			"status":     s.status,
		},
	}
	if scope == v1alpha1.ScopeCluster {
		root.Properties["graphNamespace"] = apiextensionsv1.JSONSchemaProps{
			Type: "string", MinLength: new(int64(1)), MaxLength: new(int64(63)),
			Description: "Namespace of the instance's ResourceGraph.",
		}
		root.Required = append(root.Required, "graphNamespace")
	}
	if s.required {
		root.Required = append(root.Required, "spec")
	}
	return root
}

// statusSchema returns the status that every generated kind has. The controller
// that renders instances writes these fields.
func statusSchema() apiextensionsv1.JSONSchemaProps {
	str := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Description: description}
	}
	count := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int64", Minimum: new(0.0), Description: description}
	}
	phase := str("Phase sums the conditions up.")
	// The values are part of the kind's API: removing one is a breaking change.
	phase.Enum = literals("Pending", "Rendering", "Ready", "Failed")
	return apiextensionsv1.JSONSchemaProps{
		Type:        "object",
		Description: "What became of the instance.",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"phase": phase,
			"resourceGraphRef": {
				Type:        "object",
				Description: "The ResourceGraph that was rendered from the instance.",
				Required:    []string{"name"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"name":      str("Name of the ResourceGraph."),
					"namespace": str("Namespace of the ResourceGraph."),
				},
			},
			"outputs": {
				Type:                   "object",
				Description:            "What the platform computed from the live objects.",
				XPreserveUnknownFields: new(true),
			},
			"observedGeneration": {
				Type:        "integer",
				Format:      "int64",
				Description: "The metadata.generation that the status describes.",
			},
			"conditions": conditionsSchema(),
			"nodes": {
				Type:        "object",
				Description: "Numbers of nodes of the ResourceGraph.",
				Required:    []string{"failed", "ready", "total"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"total":   count("Number of nodes."),
					"ready":   count("Number of nodes that are ready."),
					"failed":  count("Number of nodes that failed or are degraded."),
					"summary": str("Number of nodes that are ready and that of all nodes, such as 2/3."),
				},
			},
			"firstFailure": {
				Type:        "object",
				Description: "The first node of the ResourceGraph that failed.",
				Required:    []string{"node"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"node":    str("Id of the node."),
					"reason":  str("Why the node failed, in CamelCase."),
					"message": str("The details, for people."),
				},
			},
			"module": {
				Type:        "object",
				Description: "The module that the ResourceGraph was rendered from.",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"digest":  str("Digest of the module, as sha256:HEX."),
					"version": str("Version of the module, if it has one."),
				},
			},
			"lastHandledReconcileAt": str("Value of the last handled annotation that requests a reconciliation."),
		},
	}
}

// conditionsSchema returns the schema of a list of metav1.Condition, with the
// same bounds as that type has. The bounds are in
// k8s.io/apimachinery/pkg/apis/meta/v1/types.go.
func conditionsSchema() apiextensionsv1.JSONSchemaProps {
	text := func(description string, maxLength int64) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Description: description, MaxLength: &maxLength}
	}
	reason := text("Why the condition has its status, in CamelCase.", 1024)
	reason.MinLength = new(int64(1))
	return apiextensionsv1.JSONSchemaProps{
		Type:         "array",
		Description:  "The latest observations of the instance's state.",
		XListType:    new("map"),
		XListMapKeys: []string{"type"},
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type:     "object",
			Required: []string{"lastTransitionTime", "message", "reason", "status", "type"},
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"type":               text("What the condition is about, in CamelCase.", 316),
				"status":             {Type: "string", Description: "True, False or Unknown.", Enum: literals("True", "False", "Unknown")},
				"reason":             reason,
				"message":            text("The details, for people.", 32768),
				"lastTransitionTime": {Type: "string", Format: "date-time", Description: "When the status last changed."},
				"observedGeneration": {Type: "integer", Format: "int64", Minimum: new(0.0), Description: "The metadata.generation that the condition describes."},
			},
		}},
	}
}

// printerColumns returns the module's own columns, then those of @k8s attributes,
// then those that every generated kind has. Of columns with the same name, the
// first wins. Names are compared without case, because kubectl prints them in
// capitals. So a module may replace the columns that every kind has.
func printerColumns(own []v1alpha1.PrinterColumn, ofFields []apiextensionsv1.CustomResourceColumnDefinition) []apiextensionsv1.CustomResourceColumnDefinition {
	var all, columns []apiextensionsv1.CustomResourceColumnDefinition
	for _, c := range own {
		all = append(all, apiextensionsv1.CustomResourceColumnDefinition{
			Name: c.Name, Type: c.Type, JSONPath: c.JSONPath,
			Description: c.Description, Format: c.Format, Priority: c.Priority,
		})
	}
	all = append(all, ofFields...)
	all = append(all,
		apiextensionsv1.CustomResourceColumnDefinition{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`},
		apiextensionsv1.CustomResourceColumnDefinition{Name: "Phase", Type: "string", JSONPath: ".status.phase"},
		apiextensionsv1.CustomResourceColumnDefinition{Name: "Nodes", Type: "string", JSONPath: ".status.nodes.summary"},
		apiextensionsv1.CustomResourceColumnDefinition{Name: "Reason", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].reason`},
		apiextensionsv1.CustomResourceColumnDefinition{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
		apiextensionsv1.CustomResourceColumnDefinition{
			Name: "Message", Type: "string", Priority: 1, JSONPath: `.status.conditions[?(@.type=="Ready")].message`,
		},
	)
	taken := map[string]bool{}
	for _, c := range all {
		if name := strings.ToLower(c.Name); !taken[name] {
			taken[name] = true
			columns = append(columns, c)
		}
	}
	return columns
}

// literals returns strings as members of an enum. They must need no escaping in
// JSON.
func literals(values ...string) []apiextensionsv1.JSON {
	out := make([]apiextensionsv1.JSON, len(values))
	for i, v := range values {
		out[i].Raw = []byte(`"` + v + `"`)
	}
	return out
}

// Marshal writes crd as YAML with sorted keys, without the status and the
// creation timestamp, which only an API server sets. Equal CRDs give equal bytes.
// The order of keys is alphabetic at every level, and numbers keep their digits.
func Marshal(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	out, err := yamlout.Marshal(Desired(crd))
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: writing: %w", crd.Name, err)
	}
	return out, nil
}

// Desired returns crd without the fields that only an API server sets, to be encoded.
func Desired(crd *apiextensionsv1.CustomResourceDefinition) any {
	object := struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta                            `json:"metadata"`
		Spec            apiextensionsv1.CustomResourceDefinitionSpec `json:"spec"`
	}{crd.TypeMeta, crd.ObjectMeta, crd.Spec}
	object.Metadata.CreationTimestamp = metav1.Time{}
	return object
}
