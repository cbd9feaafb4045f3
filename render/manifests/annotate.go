package manifests

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Annotations of the tools, as in their documentation.
const (
	argoSyncWave    = "argocd.argoproj.io/sync-wave"
	argoSyncOptions = "argocd.argoproj.io/sync-options"
	fluxPrune       = "kustomize.toolkit.fluxcd.io/prune"
	fluxForce       = "kustomize.toolkit.fluxcd.io/force"
	// kpt and other tools made with cli-utils read this one.
	lifecycleDeletion = "client.lifecycle.config.k8s.io/deletion"
)

// annotate adds the annotations of the tool. It never overwrites one that the
// object's author wrote. For Argo CD it records the object's sync wave in
// syncWaves; waves count from 0, which is also the wave of objects without the
// annotation.
func (p *plain) annotate(u *unstructured.Unstructured, n *graph.Node, wave int, syncWaves map[string]int) {
	orphaned := n.Orphaned(p.deletion)
	switch p.tool {
	case AnyTool:
		if orphaned {
			addAnnotation(u, lifecycleDeletion, "detach")
		}
	case ArgoCD:
		addAnnotation(u, argoSyncWave, strconv.Itoa(wave))
		number, err := strconv.Atoi(u.GetAnnotations()[argoSyncWave])
		if err != nil {
			p.problem(n, annotationPath(argoSyncWave), fmt.Sprintf("%q is not a number", u.GetAnnotations()[argoSyncWave]), "")
			return
		}
		syncWaves[n.ID] = number
		if orphaned {
			options := mergeOptions(u.GetAnnotations()[argoSyncOptions], "Prune=false", "Delete=false")
			setAnnotation(u, argoSyncOptions, options)
		}
	case Flux:
		// Flux has no annotation for the order: kustomize-controller sorts objects by kind.
		if orphaned {
			addAnnotation(u, fluxPrune, "disabled")
		}
		if n.ApplyPolicy != nil && n.ApplyPolicy.Recreate == v1alpha1.RecreateOnImmutable {
			addAnnotation(u, fluxForce, "enabled")
		}
	}
}

// checkSyncWaves reports sync waves of the author that contradict the order of
// the graph. With them Argo CD would apply an object before what it depends
// on.
func (p *plain) checkSyncWaves(nodes map[string]*graph.Node, waves map[string]int) {
	for _, e := range p.graph.Edges() {
		wave, ok := waves[e.Node]
		need, other := waves[e.Needs]
		if ok && other && wave < need {
			p.problem(nodes[e.Node], annotationPath(argoSyncWave),
				fmt.Sprintf("wave %d is before wave %d of node %s, which must be ready first", wave, need, e.Needs),
				"leave the annotation out, it is written from the graph")
		}
	}
}

// addAnnotation sets an annotation unless the object has it.
func addAnnotation(u *unstructured.Unstructured, key, value string) {
	if _, has := u.GetAnnotations()[key]; !has {
		setAnnotation(u, key, value)
	}
}

// mergeOptions adds options of the form Name=value to a comma-separated list.
// An option whose name is in the list already is not added.
func mergeOptions(list string, options ...string) string {
	var merged []string
	seen := map[string]bool{}
	if strings.TrimSpace(list) != "" {
		for option := range strings.SplitSeq(list, ",") {
			option = strings.TrimSpace(option)
			name, _, _ := strings.Cut(option, "=")
			seen[name] = true
			merged = append(merged, option)
		}
	}
	for _, option := range options {
		if name, _, _ := strings.Cut(option, "="); !seen[name] {
			merged = append(merged, option)
		}
	}
	return strings.Join(merged, ",")
}
