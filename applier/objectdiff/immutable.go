package objectdiff

import (
	"strings"

	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// immutable lists fields of a kind that cannot change while an object exists.
type immutable struct {
	group, kind string
	// fields are paths of map keys with dots between them; see Path.under.
	fields []string
	// except lists mutable fields below fields.
	except []string
	// lost is the cost of recreating the object, for messages. It may be empty.
	lost string
}

// immutableFields returns the immutable fields of a kind. They are those of the
// update validation of the API server: pkg/apis/*/validation of Kubernetes 1.36
// (ValidateXUpdate of each kind), and for definitions
// pkg/apis/apiextensions/validation of k8s.io/apiextensions-apiserver. The table
// has neither fields that the API server sets nor kinds that are not kept in files.
func immutableFields(group, kind string) []immutable {
	// The costs of recreating an object.
	const (
		restart = "its Pods end before new ones start"
		again   = "it runs again from the start"
		empty   = "the new one starts empty"
	)
	var found []immutable
	for _, f := range []immutable{
		{"", "Pod", []string{"spec"}, []string{
			"spec.containers.image", "spec.initContainers.image", "spec.activeDeadlineSeconds",
			"spec.terminationGracePeriodSeconds", "spec.tolerations",
		}, restart},
		{"", "PersistentVolumeClaim", []string{"spec"}, []string{
			"spec.resources.requests", "spec.volumeAttributesClassName",
		}, empty},
		{"", "PersistentVolume", []string{"spec"}, []string{
			"spec.capacity", "spec.accessModes", "spec.claimRef", "spec.persistentVolumeReclaimPolicy", "spec.storageClassName",
			"spec.mountOptions", "spec.volumeAttributesClassName",
		}, ""},
		{"", "Secret", []string{"type"}, nil, ""},
		{"", "Service", []string{"spec.healthCheckNodePort", "spec.loadBalancerClass"}, nil, "its address changes"},
		{"apps", "DaemonSet", []string{"spec.selector"}, nil, restart},
		{"apps", "Deployment", []string{"spec.selector"}, nil, restart},
		{"apps", "ReplicaSet", []string{"spec.selector"}, nil, restart},
		{"apps", "StatefulSet", []string{"spec"}, []string{
			"spec.minReadySeconds", "spec.ordinals", "spec.persistentVolumeClaimRetentionPolicy", "spec.replicas",
			"spec.revisionHistoryLimit", "spec.template", "spec.updateStrategy",
		}, restart},
		{"batch", "Job", []string{
			"spec.backoffLimitPerIndex", "spec.completionMode", "spec.completions", "spec.managedBy", "spec.podFailurePolicy",
			"spec.selector", "spec.successPolicy", "spec.template",
		}, nil, again},
		{"networking.k8s.io", "IngressClass", []string{"spec.controller"}, nil, ""},
		{"networking.k8s.io", "IPAddress", []string{"spec.parentRef"}, nil, ""},
		{"node.k8s.io", "RuntimeClass", []string{"handler"}, nil, ""},
		{"rbac.authorization.k8s.io", "ClusterRoleBinding", []string{"roleRef"}, nil, "access is lost in between"},
		{"rbac.authorization.k8s.io", "RoleBinding", []string{"roleRef"}, nil, "access is lost in between"},
		{"resource.k8s.io", "ResourceClaim", []string{"spec"}, nil, ""},
		{"resource.k8s.io", "ResourceClaimTemplate", []string{"spec"}, nil, ""},
		{"scheduling.k8s.io", "PriorityClass", []string{"value", "preemptionPolicy"}, nil, ""},
		{"storage.k8s.io", "CSIDriver", []string{"spec.attachRequired", "spec.volumeLifecycleModes"}, nil, ""},
		{"storage.k8s.io", "StorageClass", []string{
			"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode",
		}, nil, ""},
		{"storage.k8s.io", "VolumeAttributesClass", []string{"driverName", "parameters"}, nil, ""},
		{"apiextensions.k8s.io", "CustomResourceDefinition", []string{
			"spec.group", "spec.names.kind", "spec.names.plural", "spec.scope",
		}, nil, "every object of the kind is lost"},
		{"discovery.k8s.io", "EndpointSlice", []string{"addressType"}, nil, ""},
	} {
		if f.group == group && f.kind == kind {
			found = append(found, f)
		}
	}
	return found
}

// warnImmutable warns of changes of immutable fields, once per field. A ConfigMap
// or Secret can make its own data immutable, by the field immutable.
func warnImmutable(o *ObjectDiff) {
	table := immutableFields(o.Group, o.Kind)
	if (o.is("", "ConfigMap") || o.is("", "Secret")) && o.old.body["immutable"] == true {
		table = append(table, immutable{fields: []string{"data", "stringData", "binaryData", "immutable"}})
	}
	warned := map[string]bool{}
	for _, c := range o.Changes {
		for _, f := range table {
			field, ok := f.field(c.Path)
			if !ok || warned[field] || mutable(o, c) {
				continue
			}
			warned[field] = true
			o.warn(RuleImmutable, field, "%s", o.notUntilRecreated("can't be changed", f.lost))
		}
	}
	warnServiceAddress(o)
}

// mutable reports whether a field of the table may change in the state that the object
// has. The measurements in test/consequences show these cases.
func mutable(o *ObjectDiff, c Change) bool {
	switch {
	case o.is("batch", "Job"):
		suspended := jsonvalue.Field(o.old.body, "spec", "suspend") == true
		return suspended && (c.Path.under("spec.template.spec.nodeSelector") || c.Path.under("spec.template.spec.containers.resources"))
	case o.is("", "PersistentVolume"):
		return c.Path.under("spec.nodeAffinity") && jsonvalue.Field(o.old.body, "spec", "nodeAffinity") == nil
	case o.is("", "Secret"): // Opaque is the default
		return c.Path.under("type") && (c.Action == Add && c.new == "Opaque" || c.Action == Remove && c.old == "Opaque")
	case o.is("", "Service"):
		return c.Path.under("spec.loadBalancerClass") && jsonvalue.Field(o.old.body, "spec", "type") != "LoadBalancer"
	}
	return false
}

// field returns the immutable field that a path leads to or below. If the field
// has exceptions, only a part of it is immutable: field then returns the direct
// child that the path leads to. For a Pod and spec.containers[name=app].env it
// returns spec.containers, and for spec.containers[name=app].image it returns
// false.
func (f immutable) field(p Path) (string, bool) {
	keys := strings.Join(p.keys(), ".") + "."
	for _, except := range f.except {
		// Paths below an exception are mutable; a whole container is not.
		if strings.HasPrefix(keys, except+".") {
			return "", false
		}
	}
	for _, field := range f.fields {
		if !p.under(field) {
			continue
		}
		if f.except == nil {
			return field, true
		}
		return strings.Join(p.keys()[:min(len(p.keys()), strings.Count(field, ".")+2)], "."), true
	}
	return "", false
}

// warnServiceAddress warns of changes of the addresses of a Service. The API server
// assigns addresses that a file does not set, so adding one to a file changes
// nothing that can be known here.
func warnServiceAddress(o *ObjectDiff) {
	if !o.is("", "Service") {
		return
	}
	for _, c := range o.Changes {
		switch {
		case c.Path.under("spec.clusterIP") || c.Path.under("spec.clusterIPs"):
			switch {
			case c.Action == Remove:
				// See patchAllocatedValues in pkg/registry/core/service/storage.
				o.warn(RuleImmutable, c.Path.String(), "removing it has no effect: the Service keeps it until it is deleted and recreated")
			case c.Action != Add || c.new == "None":
				o.warn(RuleImmutable, c.Path.String(), "%s", o.notUntilRecreated("can't be changed", "its address changes"))
			}
		case c.Path.under("spec.type") && c.old == "LoadBalancer":
			o.warn(RuleLoss, "spec.type", "the load balancer is removed, and its address is lost")
		}
	}
}
