package platform

import (
	"fmt"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// The forms of texts in fields that only matter in a cluster. They are those of the CRD.
var (
	crdNamePattern  = lazyregexp.New(`^[a-z]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`)
	groupPattern    = lazyregexp.New(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`)
	resourcePattern = lazyregexp.New(`^[a-z]([-a-z0-9]*[a-z0-9])?(/[a-z]([-a-z0-9]*[a-z0-9])?)?$`)
	verbPattern     = lazyregexp.New(`^[a-z]+$`)
)

// clusterProblems returns the problems of the fields that only matter in a cluster. It
// reads the generic form of the document: a duration that doesn't parse has no typed
// form, and would otherwise be reported without its position.
func clusterProblems(doc yamlfile.Document) problem.List {
	var raw map[string]any
	if err := doc.Decode(&raw); err != nil || raw["kind"] != "Transform" {
		return nil
	}
	given, _ := raw["spec"].(map[string]any)
	c := &transformChecker{doc: doc}
	c.checkClusterFields(given)
	return c.problems.Sorted()
}

// checkClusterFields checks the fields of a spec that only matter in a cluster. Commands
// ignore them, so that the same file works in a cluster and without one. Values of
// another type than the field's are left out: decoding reports them.
func (c *transformChecker) checkClusterFields(spec map[string]any) {
	c.checkDuration("spec", spec, "interval", v1alpha1.MinInterval)
	c.checkOneOf("spec", spec, "crdDeletionPolicy", "Delete", "Orphan")
	c.checkOneOf("spec", spec, "rbacScope", "Cluster", "Namespace")
	c.checkDigest("spec", spec, "approvedBreakingDigest")
	c.checkTexts("spec", spec, "adoptCRDs", 16, 253, crdNamePattern(), "the name of a CRD: PLURAL.GROUP")
	resources := c.list("spec", spec, "managedResources", 256)
	for i, r := range resources {
		path := "spec.managedResources" + fieldpath.Index(i)
		rule, ok := r.(map[string]any)
		if !ok {
			continue
		}
		if group, ok := rule["apiGroup"]; !ok {
			c.wrong(fieldpath.Join(path, "apiGroup"), "required field is missing", `the core group is ""`)
		} else if group, ok := group.(string); ok && (!groupPattern().MatchString(group) || len(group) > 253) {
			c.wrong(fieldpath.Join(path, "apiGroup"), fmt.Sprintf("%q is not an API group", group), "")
		}
		if list, ok := rule["resources"].([]any); !ok || len(list) == 0 {
			c.wrong(fieldpath.Join(path, "resources"), "required field is missing", "")
		}
		c.checkTexts(path, rule, "resources", 64, 128, resourcePattern(), "the plural name of a resource")
		c.checkTexts(path, rule, "verbs", 32, 63, verbPattern(), "a verb")
	}
	if rollout, ok := spec["rollout"].(map[string]any); ok {
		c.checkRollout(rollout)
	}
}

// checkRollout checks spec.rollout.
func (c *transformChecker) checkRollout(rollout map[string]any) {
	const at = "spec.rollout"
	for i, batch := range c.list(at, rollout, "batches", 32) {
		c.checkShare(at+".batches"+fieldpath.Index(i), batch)
	}
	for i, order := range c.list(at, rollout, "orderBy", 8) {
		if order, ok := order.(map[string]any); ok {
			c.checkOrder(at+".orderBy"+fieldpath.Index(i), order)
		}
	}
	c.checkDuration(at, rollout, "pauseBetween", 0)
	c.checkDigest(at, rollout, "abortedDigest")
	if halt, ok := rollout["haltWhen"].(map[string]any); ok {
		const at = at + ".haltWhen"
		for _, name := range []string{"failedInstances", "refusedInstances"} {
			if value, ok := halt[name]; ok {
				c.checkShare(fieldpath.Join(at, name), value)
			}
		}
		c.checkDuration(at, halt, "progressDeadline", time.Nanosecond)
	}
	if approval, ok := rollout["approval"].(map[string]any); ok {
		c.checkApproval(at+".approval", approval)
	}
}

// checkOrder checks one key of the order of a rollout.
func (c *transformChecker) checkOrder(path string, order map[string]any) {
	c.required(path, order, "by")
	c.checkOneOf(path, order, "by", "Name", "Label", "Annotation", "Random")
	keyed := order["by"] == "Label" || order["by"] == "Annotation"
	key, has := order["key"]
	switch {
	case keyed && !has:
		c.wrong(fieldpath.Join(path, "key"), "required field is missing", "")
	case !keyed && has:
		c.refuse(path, order, "key", "is only for Label and Annotation", "")
	case has && key == "":
		c.wrong(fieldpath.Join(path, "key"), "is empty", "")
	}
	if key, ok := key.(string); ok && len(key) > 317 {
		c.wrong(fieldpath.Join(path, "key"), "has more than 317 bytes", "")
	}
	if !keyed {
		c.refuse(path, order, "values", "is only for Label and Annotation", "")
	}
	c.checkTexts(path, order, "values", 64, 256, nil, "")
}

// checkApproval checks spec.rollout.approval.
func (c *transformChecker) checkApproval(path string, approval map[string]any) {
	c.required(path, approval, "mode")
	c.checkOneOf(path, approval, "mode", "Automatic", "Digest", "Batch")
	c.checkDigest(path, approval, "digest")
	if approval["mode"] == "Automatic" {
		c.refuse(path, approval, "digest", "is not for Automatic", "")
	}
	batch, ok := approval["batch"]
	if !ok {
		return
	}
	if approval["mode"] != "Batch" {
		c.refuse(path, approval, "batch", "is only for Batch", "")
	} else {
		c.required(path, approval, "digest")
	}
	if n, ok := batch.(float64); ok && (n < 1 || n > 33) {
		c.wrong(fieldpath.Join(path, "batch"), fmt.Sprintf("%v is not a number from 1 to 33", n), "")
	}
}
