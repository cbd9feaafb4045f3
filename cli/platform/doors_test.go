package platform

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/modules"
)

// TestDoors checks that commands refuse a Transform in a file exactly if the API server
// refuses it by the rules of its CRD. The test runs the API server's own code on the CRD;
// the module and the names of the kind have checks of their own.
func TestDoors(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	server := transformRules(t)
	many := func(n int, entry string) string { return "[" + strings.Repeat(entry+", ", n) + "]" }
	for spec, accepted := range map[string]bool{
		"interval: 30s":                                   true,
		"interval: 1h30m":                                 true,
		"interval: 0.5h":                                  true,
		"interval: 29s":                                   false,
		"interval: soon":                                  false,
		"interval: 500ms":                                 false,
		"interval: ''":                                    false,
		"interval: 5":                                     false,
		"interval: -1h":                                   false,
		"interval: " + strings.Repeat("1h", 17):           false,
		"crdDeletionPolicy: Delete":                       true,
		"crdDeletionPolicy: Keep":                         false,
		"crdDeletionPolicy: ''":                           false,
		"graphDeletionPolicy: ''":                         false,
		"approvedBreakingDigest: " + digest:               true,
		"approvedBreakingDigest: ''":                      false,
		"adoptCRDs: []":                                   true,
		"adoptCRDs: [shops.example.com]":                  true,
		"adoptCRDs: [shops]":                              false,
		"adoptCRDs: [a.b, a.b]":                           false,
		"adoptCRDs: [Shops.example.com]":                  false,
		"adoptCRDs: shops.example.com":                    false,
		"adoptCRDs: " + many(17, "a.b"):                   false,
		"adoptCRDs: [a." + strings.Repeat("b", 252) + "]": false,
		"managedResources: []":                            true,
		"managedResources: [{apiGroup: '', resources: [pods, pods/log]}]":   true,
		"managedResources: [{apiGroup: a.b, resources: [x], verbs: [get]}]": true,
		"managedResources: [{resources: [pods]}]":                           false,
		"managedResources: [{apiGroup: apps}]":                              false,
		"managedResources: [{apiGroup: apps, resources: []}]":               false,
		"managedResources: [{apiGroup: APPS, resources: [x]}]":              false,
		"managedResources: [{apiGroup: '', resources: ['*']}]":              false,
		"managedResources: [{apiGroup: '', resources: [x, x]}]":             false,
		"managedResources: [{apiGroup: '', resources: [x], verbs: ['*']}]":  false,
		"managedResources: " + many(257, "{apiGroup: '', resources: [x]}"):  false,
		"rbacScope: Cluster":                                                       true,
		"rbacScope: Namespaced":                                                    false,
		"rbacScope: ''":                                                            false,
		"rollout: {}":                                                              true,
		"rollout: {batches: [1, 10%, '50%', 100%]}":                                true,
		"rollout: {batches: []}":                                                   true,
		"rollout: {batches: [0]}":                                                  false,
		"rollout: {batches: [-1]}":                                                 false,
		"rollout: {batches: [1.5]}":                                                false,
		"rollout: {batches: [0%]}":                                                 false,
		"rollout: {batches: [101%]}":                                               false,
		"rollout: {batches: ['1']}":                                                false,
		"rollout: {batches: [true]}":                                               false,
		"rollout: {batches: 10%}":                                                  false,
		"rollout: {batches: " + many(33, "1") + "}":                                false,
		"rollout: {orderBy: [{by: Name}, {by: Random}]}":                           true,
		"rollout: {orderBy: [{by: Label, key: x, values: [a, b]}]}":                true,
		"rollout: {orderBy: [{by: Label, key: x, values: [a, a]}]}":                false,
		"rollout: {orderBy: [{by: Annotation, key: x}]}":                           true,
		"rollout: {orderBy: [{by: Annotation, key: ''}]}":                          false,
		"rollout: {orderBy: [{by: Label}]}":                                        false,
		"rollout: {orderBy: [{by: Name, key: x}]}":                                 false,
		"rollout: {orderBy: [{by: Name, values: [x]}]}":                            false,
		"rollout: {orderBy: [{by: Size}]}":                                         false,
		"rollout: {orderBy: [{by: ''}]}":                                           false,
		"rollout: {orderBy: [{}]}":                                                 false,
		"rollout: {orderBy: " + many(9, "{by: Name}") + "}":                        false,
		"rollout: {orderBy: [{by: Label, key: " + strings.Repeat("x", 318) + "}]}": false,
		"rollout: {pauseBetween: 0s}":                                              true,
		"rollout: {pauseBetween: long}":                                            false,
		"rollout: {haltWhen: {failedInstances: 3}}":                                true,
		"rollout: {haltWhen: {failedInstances: 5%}}":                               true,
		"rollout: {haltWhen: {failedInstances: 0}}":                                false,
		"rollout: {haltWhen: {failedInstances: many}}":                             false,
		"rollout: {haltWhen: {refusedInstances: 100%}}":                            true,
		"rollout: {haltWhen: {refusedInstances: 0%}}":                              false,
		"rollout: {haltWhen: {progressDeadline: 5m}}":                              true,
		"rollout: {haltWhen: {progressDeadline: 0s}}":                              false,
		"rollout: {approval: {mode: Automatic}}":                                   true,
		"rollout: {approval: {}}":                                                  false,
		"rollout: {approval: {mode: Never}}":                                       false,
		"rollout: {approval: {mode: Batch, batch: 1}}":                             false,
		"rollout: {approval: {mode: Automatic, digest: '" + digest + "'}}":         false,
		"rollout: {approval: {mode: Digest, digest: '" + digest + "'}}":            true,
		"rollout: {approval: {mode: Digest, digest: x}}":                           false,
		"rollout: {approval: {mode: Digest, batch: 1, digest: '" + digest + "'}}":  false,
		"rollout: {approval: {mode: Batch, batch: 1, digest: '" + digest + "'}}":   true,
		"rollout: {approval: {mode: Batch, batch: 0, digest: '" + digest + "'}}":   false,
		"rollout: {approval: {mode: Batch, batch: 34, digest: '" + digest + "'}}":  false,
		"rollout: {abortedDigest: '" + digest + "'}":                               true,
		"rollout: {abortedDigest: ''}":                                             false,
		"rollout: {unknown: 1}":                                                    false,
		"serviceAccountName: ../default":                                           false,
		"deletionPolicy: Orphan":                                                   false,
	} {
		file := "apiVersion: platform.pequod.io/v1alpha1\nkind: Transform\nmetadata: {name: x}\nspec:\n  cueRef: {type: embedded, ref: webservice}\n  " + spec + "\n"
		_, err := parseTransforms(nil, []byte(file), "t.yaml", modules.Place{})
		if (err == nil) != accepted {
			t.Errorf("%s: the command returns %v; accepted should be %t", spec, err, accepted)
		} else if err != nil && !strings.HasPrefix(err.Error(), "t.yaml:6:") {
			t.Errorf("%s: the command doesn't report the position of the field: %v", spec, err)
		}
		if err := server(t, file); (err == nil) != accepted {
			t.Errorf("%s: the API server returns %v; accepted should be %t", spec, err, accepted)
		}
	}
}

// transformRules returns a function that validates a Transform as the API server does.
func transformRules(t *testing.T) func(t *testing.T, file string) error {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash("../../config/crd/platform.pequod.io_transforms.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	var schema apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&spec, &schema, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&schema)
	if err != nil {
		t.Fatal(err)
	}
	rules := cel.NewValidator(structural, false, celconfig.PerCallLimit)
	return func(t *testing.T, file string) error {
		t.Helper()
		var object map[string]any
		text, err := yaml.YAMLToJSON([]byte(file))
		if err == nil {
			err = json.Unmarshal(text, &object)
		}
		if err != nil {
			t.Fatal(err)
		}
		spec := object["spec"]
		unknown := pruning.PruneWithOptions(spec, structural, false, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		if len(unknown) > 0 {
			return fmt.Errorf("unknown fields %v", unknown)
		}
		errs := validation.ValidateCustomResource(nil, spec, validator)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, spec.(map[string]any))...)
		if len(errs) == 0 {
			ruleErrs, _ := rules.Validate(t.Context(), nil, structural, spec, nil, celconfig.RuntimeCELCostBudget)
			errs = append(errs, ruleErrs...)
		}
		return errs.ToAggregate()
	}
}
