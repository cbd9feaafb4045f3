package compat

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// crdVersion is one version of a definition.
type crdVersion = apiextensionsv1.CustomResourceDefinitionVersion

// versionOf compares a version with the one of the same name. Clients use the
// served versions, so these must stay compatible. Of a version that isn't served,
// only the objects that are stored in it matter.
func (c *checker) versionOf(ov *crdVersion, new *apiextensionsv1.CustomResourceDefinition) {
	nv := versionNamed(new, ov.Name)
	c.version, c.at = ov.Name, []string{"spec", "versions"}
	switch {
	case !ov.Served && !ov.Storage:
		return
	case !ov.Served && nv == nil:
		c.breaking("", RuleVersion, "version %s is gone, in which objects are stored", ov.Name)
		return
	case !ov.Served:
		// The API server prunes and completes stored objects by this schema, but
		// doesn't validate them.
		c.part(ov, nv, schemaKeys(new, nv), func(change Change) bool {
			return slices.Contains([]string{RuleRemoved, RuleKeys, RuleDefault}, change.Rule)
		})
		return
	case nv == nil || !nv.Served:
		c.breaking("", RuleVersion, "version %s is no longer served", ov.Name)
		return
	}
	if nv.Deprecated && !ov.Deprecated {
		c.safe("", RuleVersion, "version %s is deprecated", ov.Name)
	}
	if ov.Storage && !nv.Storage {
		c.safe("", RuleVersion, "version %s is no longer the one that is stored", ov.Name)
	}
	c.at = schemaKeys(new, nv)[:3]
	c.subresources(ov, nv)
	c.set("", RuleSelectable, "selectable field", selectable(ov), selectable(nv))
	c.at = schemaKeys(new, nv)
	c.schema("", schemaOf(ov), schemaOf(nv))
}

// subresources compares the subresources status and scale. A lost scale breaks
// kubectl scale and autoscalers; one that reads another field breaks them, too,
// unless the field moved with it, and that is breaking by itself.
func (c *checker) subresources(ov, nv *crdVersion) {
	var o, n apiextensionsv1.CustomResourceSubresources
	if ov.Subresources != nil {
		o = *ov.Subresources
	}
	if nv.Subresources != nil {
		n = *nv.Subresources
	}
	// With the subresource, a write to the object ignores status; without it, it
	// doesn't.
	if (o.Status != nil) != (n.Status != nil) {
		c.breaking("", RuleNames, "the status subresource comes or goes")
	}
	switch {
	case o.Scale == nil && n.Scale == nil:
		return
	case o.Scale == nil:
		c.safe("", RuleScale, "the scale subresource is new")
		return
	case n.Scale == nil:
		c.breaking("", RuleScale, "the scale subresource is gone")
		return
	}
	for _, p := range []struct{ what, old, new string }{
		{"specReplicasPath", o.Scale.SpecReplicasPath, n.Scale.SpecReplicasPath},
		{"statusReplicasPath", o.Scale.StatusReplicasPath, n.Scale.StatusReplicasPath},
		{"labelSelectorPath", ptr.Deref(o.Scale.LabelSelectorPath, ""), ptr.Deref(n.Scale.LabelSelectorPath, "")},
	} {
		switch {
		case p.old == p.new:
		case p.old == "":
			c.safe("", RuleScale, "%s %s is new", p.what, p.new)
		case p.new == "":
			c.breaking("", RuleScale, "%s %s is gone", p.what, p.old)
		default:
			c.breaking("", RuleScale, "%s %s → %s", p.what, p.old, p.new)
		}
	}
}

// conversion compares how objects are converted between versions.
func (c *checker) conversion(old, new *apiextensionsv1.CustomResourceDefinition) {
	c.version, c.at = "", []string{"spec", "conversion"}
	if old.Spec.PreserveUnknownFields && !new.Spec.PreserveUnknownFields {
		c.breaking("", RuleKeys, "fields that the schema doesn't name are no longer kept")
	}
	switch was, is := byWebhook(old), byWebhook(new); {
	case was == is:
	case is:
		c.warning("", RuleConversion, "a webhook converts between versions, which isn't checked")
	case len(old.Spec.Versions) > 1 && len(new.Spec.Versions) > 1:
		c.breaking("", RuleConversion, "no webhook converts between versions anymore")
	}
}

// stored compares the version in which objects were stored with the one in which
// they are stored from now on. Without a webhook, the API server only replaces
// apiVersion. So a field that the new version lacks is dropped from every object,
// also from those that clients of the old version write, and a stricter rule
// rejects the next update. Changes that the old version has, too, are left out.
func (c *checker) stored(old, new *apiextensionsv1.CustomResourceDefinition) {
	ov, nv := storageOf(old), storageOf(new)
	if ov == nil || nv == nil || ov.Name == nv.Name || byWebhook(new) {
		return
	}
	known := slices.Concat(c.breakings, c.warnings)
	c.version = ov.Name + " → " + nv.Name
	c.part(ov, nv, schemaKeys(new, nv), func(change Change) bool {
		return !slices.ContainsFunc(known, func(k Change) bool {
			return k.Version == ov.Name && k.Path == change.Path && k.Message == change.Message
		})
	})
}

// part compares two schemas and records the breaking changes and warnings among
// those that keep accepts.
func (c *checker) part(ov, nv *crdVersion, at []string, keep func(Change) bool) {
	sub := &checker{crd: c.crd, version: c.version, at: at}
	sub.schema("", schemaOf(ov), schemaOf(nv))
	drop := func(change Change) bool { return !keep(change) }
	c.breakings = append(c.breakings, slices.DeleteFunc(sub.breakings, drop)...)
	c.warnings = append(c.warnings, slices.DeleteFunc(sub.warnings, drop)...)
}

// versionNamed returns the version with a name, or nil.
func versionNamed(crd *apiextensionsv1.CustomResourceDefinition, name string) *crdVersion {
	i := slices.IndexFunc(crd.Spec.Versions, func(v crdVersion) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &crd.Spec.Versions[i]
}

// storageOf returns the version in which objects are stored, or nil.
func storageOf(crd *apiextensionsv1.CustomResourceDefinition) *crdVersion {
	i := slices.IndexFunc(crd.Spec.Versions, func(v crdVersion) bool { return v.Storage })
	if i < 0 {
		return nil
	}
	return &crd.Spec.Versions[i]
}

// byWebhook reports whether a webhook converts objects.
func byWebhook(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// schemaKeys returns the keys that lead to the schema of a version.
func schemaKeys(crd *apiextensionsv1.CustomResourceDefinition, v *crdVersion) []string {
	i := slices.IndexFunc(crd.Spec.Versions, func(w crdVersion) bool { return w.Name == v.Name })
	return []string{"spec", "versions", fmt.Sprint(i), "schema", "openAPIV3Schema"}
}

// schemaOf returns the schema of a version; without one, anything is accepted.
func schemaOf(v *crdVersion) *props {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return &props{}
	}
	return v.Schema.OpenAPIV3Schema
}

// selectable returns the paths of the fields by which clients may select objects.
func selectable(v *crdVersion) []string {
	var paths []string
	for _, f := range v.SelectableFields {
		paths = append(paths, f.JSONPath)
	}
	return paths
}
