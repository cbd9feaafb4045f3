package objectdiff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// fixed are fields of a kind that can't change while an object lives.
type fixed struct {
	group, kind string
	fields      []string
	// except are fields below those that can.
	except []string
	// lost is what making the object anew costs.
	lost string
}

// fixedFields is the table of immutable fields, from the update validation of
// the API server: pkg/apis/*/validation of Kubernetes 1.36 (ValidateXUpdate of
// each kind), and for definitions pkg/apis/apiextensions/validation of
// k8s.io/apiextensions-apiserver. Fields that the API server sets itself, and
// kinds that nobody keeps in files, aren't in it.
func fixedFields(group, kind string) []fixed {
	const (
		restart = "its Pods end before new ones start"
		again   = "it runs again from the start"
		empty   = "the new one starts empty"
	)
	var of []fixed
	for _, f := range []fixed{
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
			of = append(of, f)
		}
	}
	return of
}

// immutables warns of changes to fields that can't change.
func immutables(o *ObjectDiff) {
	table := fixedFields(o.Group, o.Kind)
	if (o.is("", "ConfigMap") || o.is("", "Secret")) && o.old.body["immutable"] == true {
		table = append(table, fixed{fields: []string{"data", "stringData", "binaryData", "immutable"}})
	}
	said := map[string]bool{}
	for _, c := range o.Changes {
		for _, f := range table {
			field, ok := f.field(c.Path)
			if !ok || said[field] {
				continue
			}
			said[field] = true
			o.warn(RuleImmutable, field, "%s", o.anew("can't be changed", f.lost))
		}
	}
	service(o)
}

// field gives the field of the table that a path is in or leads below: of what
// has exceptions, the field among those beside them.
func (f fixed) field(p Path) (string, bool) {
	keys := strings.Join(p.keys(), ".") + "."
	for _, except := range f.except {
		// A container's image may change, a container not.
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

// anew ends a message about a field that can't be changed.
func (o *ObjectDiff) anew(message, lost string) string {
	if o.new.policy.recreated {
		message += ": the object will be deleted and made anew"
	} else {
		message += ": the API server refuses it until the object is deleted and made anew"
	}
	if lost != "" {
		message += ", and " + lost
	}
	return message
}

// service warns of addresses. Both are set by the API server where a file
// doesn't, so only a file that had one can lose it.
func service(o *ObjectDiff) {
	if !o.is("", "Service") {
		return
	}
	for _, c := range o.Changes {
		switch {
		case c.Path.under("spec.clusterIP") || c.Path.under("spec.clusterIPs"):
			switch {
			case c.Action == Remove:
				// patchAllocatedValues in pkg/registry/core/service/storage.
				o.warn(RuleImmutable, c.Path.String(), "taking it away has no effect: the Service keeps it until it is deleted and made anew")
			case c.Action != Add || c.new == "None":
				o.warn(RuleImmutable, c.Path.String(), "%s", o.anew("can't be changed", "its address changes"))
			}
		case c.Path.under("spec.type") && c.old == "LoadBalancer":
			o.warn(RuleLoss, "spec.type", "the load balancer is removed, and its address is lost")
		}
	}
}

func (o *ObjectDiff) warn(rule, path, format string, args ...any) {
	w := problem.Problem{Severity: problem.Warning, Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(o.Warnings, w) {
		o.Warnings = append(o.Warnings, w)
	}
}
