package manifests

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Annotations of the tools, from their documentation.
const (
	argoSyncWave    = "argocd.argoproj.io/sync-wave"
	argoSyncOptions = "argocd.argoproj.io/sync-options"
	fluxPrune       = "kustomize.toolkit.fluxcd.io/prune"
	fluxForce       = "kustomize.toolkit.fluxcd.io/force"
	// lifecycleDeletion is read by kpt and whatever else uses cli-utils.
	lifecycleDeletion = "client.lifecycle.config.k8s.io/deletion"
)

// annotate says to the tool what depends-on doesn't. Annotations of the
// object's author are never overwritten. Argo CD's waves count from 0, the wave
// of everything that has no annotation.
func (p *plain) annotate(u *unstructured.Unstructured, n *graph.Node, wave int, syncWaves map[string]int) {
	orphaned := n.Orphaned(p.deletion)
	switch p.tool {
	case AnyTool:
		if orphaned {
			addAnnotation(u, lifecycleDeletion, "detach")
		}
	case ArgoCD:
		addAnnotation(u, argoSyncWave, strconv.Itoa(wave))
		own, err := strconv.Atoi(u.GetAnnotations()[argoSyncWave])
		if err != nil {
			p.problem(n, annotationPath(argoSyncWave), fmt.Sprintf("%q is not a number", u.GetAnnotations()[argoSyncWave]), "")
			return
		}
		syncWaves[n.ID] = own
		if orphaned {
			options := mergeOptions(u.GetAnnotations()[argoSyncOptions], "Prune=false", "Delete=false")
			setAnnotation(u, argoSyncOptions, options)
		}
	case Flux:
		if orphaned {
			addAnnotation(u, fluxPrune, "disabled")
		}
		if n.ApplyPolicy != nil && n.ApplyPolicy.Recreate == v1alpha1.RecreateOnImmutable {
			addAnnotation(u, fluxForce, "enabled")
		}
	}
}

// checkSyncWaves tells waves that an author wrote and that don't fit the order
// of the graph: Argo CD would wait in the wrong place.
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

func addAnnotation(u *unstructured.Unstructured, key, value string) {
	if _, own := u.GetAnnotations()[key]; !own {
		setAnnotation(u, key, value)
	}
}

// mergeOptions adds options of the form Name=value to a list of them, unless
// the list has the name.
func mergeOptions(list string, options ...string) string {
	var merged []string
	have := map[string]bool{}
	if strings.TrimSpace(list) != "" {
		for option := range strings.SplitSeq(list, ",") {
			option = strings.TrimSpace(option)
			name, _, _ := strings.Cut(option, "=")
			have[name] = true
			merged = append(merged, option)
		}
	}
	for _, option := range options {
		if name, _, _ := strings.Cut(option, "="); !have[name] {
			merged = append(merged, option)
		}
	}
	return strings.Join(merged, ",")
}
