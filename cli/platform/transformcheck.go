package platform

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/transform"
)

// checkTransform returns the problems of a Transform that the API server would
// refuse by the rules of its CRD, except that files may refer to other files. Names are left out: render.NewPlatform checks them together with those
// of #Platform; see [opened.Load].
func checkTransform(doc yamlfile.Document, spec v1alpha1.TransformSpec) problem.List {
	c := &transformChecker{doc: doc}
	// Only the generic form tells an empty field from one that is not given. Unlike
	// the nodes of the document, it has the fields of anchors and merge keys.
	var raw map[string]any
	if err := doc.Decode(&raw); err != nil {
		return problem.List{{Position: doc.Start(), Rule: problem.RuleTransform, Message: err.Error()}}
	}
	given, _ := raw["spec"].(map[string]any)
	c.refuse("spec", given, "deletionPolicy", "was renamed to graphDeletionPolicy", "")
	for _, name := range []string{"group", "version", "kind", "plural", "scope", "serviceAccountName", "graphDeletionPolicy"} {
		if given[name] == "" {
			c.wrong(fieldpath.Join("spec", name), "is empty", "leave it out for the default")
		}
	}
	if name := spec.ServiceAccountName; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		c.wrong("spec.serviceAccountName", fmt.Sprintf("%q is not the name of a service account", name), "")
	}
	switch spec.GraphDeletionPolicy {
	case "", v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan:
	default:
		c.wrong("spec.graphDeletionPolicy", fmt.Sprintf("%q is neither Delete nor Orphan", spec.GraphDeletionPolicy), "")
	}
	c.checkClusterFields(given)
	ref, _ := given["cueRef"].(map[string]any)
	c.checkRef(transform.ModulePath, spec.CueRef, ref)
	policies, _ := given["policies"].([]any)
	for i, policy := range spec.Policies {
		ref, _ := policies[i].(map[string]any)
		c.checkRef(transform.PolicyPath(i), policy, ref)
	}
	return c.problems.Sorted()
}

// checkRef checks a reference to a module. given has the fields of the reference as
// they are in the file, empty ones included.
func (c *transformChecker) checkRef(path string, ref v1alpha1.CueRef, given map[string]any) {
	if given == nil {
		c.wrong(path, "required field is missing", "")
		return
	}
	typePath, refPath, digestPath := fieldpath.Join(path, "type"), fieldpath.Join(path, "ref"), fieldpath.Join(path, "digest")
	switch ref.Type {
	case v1alpha1.CueRefPath:
	case v1alpha1.CueRefEmbedded:
		if names := modules.Embedded(); ref.Ref != "" && !slices.Contains(names, ref.Ref) {
			c.wrong(refPath, fmt.Sprintf("no embedded module %q", ref.Ref), "there are: "+strings.Join(names, ", "))
		}
		c.refuse(path, given, "path", "an embedded module has no path", "")
	case v1alpha1.CueRefOCI:
		_, err := oci.ParseRef(ref.Ref)
		if modpath.IsRef(ref.Ref) {
			_, err = modpath.ParseRef(ref.Ref)
		}
		if ref.Ref != "" && err != nil {
			c.wrong(refPath, err.Error(), "")
		}
	case v1alpha1.CueRefGit:
		if _, err := git.ParseRef(ref.Ref); ref.Ref != "" && err != nil {
			c.wrong(refPath, err.Error(), "")
		}
	case v1alpha1.CueRefConfigMap:
		if _, _, err := inline.ParseConfigMap(ref.Ref); ref.Ref != "" && err != nil {
			c.wrong(refPath, err.Error(), "")
		}
	case v1alpha1.CueRefInline:
		c.checkInline(path, ref)
	case "":
		c.wrong(typePath, "required field is missing", "")
	default:
		known := []string{"embedded", "oci", "git", "configmap", "inline", "path"}
		c.wrong(typePath, fmt.Sprintf("%q is not a type of module source", ref.Type), hintOf(string(ref.Type), known))
	}
	if _, ok := given["ref"]; ref.Ref == "" && (ok || len(ref.Files) == 0) {
		c.wrong(refPath, "required field is missing", "")
	}
	if ref.Type != v1alpha1.CueRefInline {
		c.refuse(path, given, "files", "is only for type inline", "")
	} else if ref.Ref != "" {
		c.refuse(path, given, "files", "ref has the source of the module already", "")
	}
	if _, pinned := given["digest"]; pinned && !digestPattern().MatchString(ref.Digest) {
		c.wrong(digestPath, fmt.Sprintf("%q is not sha256: and 64 hex digits", ref.Digest), "")
	}
	c.refuse(path, given, "pullSecretRef", "this command reads no Secrets; it has your credentials", credentials(ref.Type))
	c.refuse(path, given, "verify", "this command reads no Secrets; it verifies modules by the rules of pequod.yaml",
		"remove the field, and write the rule into verify of pequod.yaml, or pin the module with digest")
}

// credentials returns how to give credentials for a type of source.
func credentials(source v1alpha1.CueRefType) string {
	switch source {
	case v1alpha1.CueRefOCI:
		return "remove the field, and log in with docker login or cue login"
	case v1alpha1.CueRefGit:
		return "remove the field, and use netrc or an ssh agent"
	}
	return "remove the field: the module needs none"
}

// checkInline checks the files of an inline module.
func (c *transformChecker) checkInline(path string, ref v1alpha1.CueRef) {
	if ref.Ref == "" && len(ref.Files) == 0 {
		return // reported as missing
	}
	seen := map[string]bool{}
	for i, f := range ref.Files {
		name := fieldpath.Join(fieldpath.Join(path, "files")+fieldpath.Index(i), "name")
		if err := inline.CheckName(f.Name); err != nil {
			c.wrong(name, err.Error(), "")
			return
		}
		if seen[f.Name] {
			c.wrong(name, "given twice", "")
		}
		seen[f.Name] = true
	}
	if _, err := inline.New(modules.InlineFiles(ref), inline.Origin{}); err != nil {
		c.wrong(path, err.Error(), "")
	}
}

// hintOf returns the most similar of the known names as a hint, or all of them.
func hintOf(name string, known []string) string {
	if hint := source.Hint(name, known); hint != "" {
		return hint
	}
	return "known: " + strings.Join(known, ", ")
}
