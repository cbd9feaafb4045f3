package rbac

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Right is the right to use one verb on one object, on all objects of a resource, or on
// a URL. The fields have the meaning of those of a SubjectAccessReview: an empty Name
// stands for all objects, and an empty Namespace for cluster-scoped objects or all
// namespaces.
type Right struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
	// URL is set instead of the resource for a rule of a role about URLs.
	URL string
}

// String returns the right as the arguments of kubectl auth can-i: "create
// deployments.apps/web -n shop".
func (r Right) String() string {
	if r.URL != "" {
		return r.Verb + " " + r.URL
	}
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += "/" + r.Name
	}
	if r.Subresource != "" {
		text += " --subresource=" + r.Subresource
	}
	if r.Namespace != "" {
		text += " -n " + r.Namespace
	}
	return text
}

// NodeRight is a right that a node of a graph needs.
type NodeRight struct {
	Right
	// Node is the id of the first node that needs the right, "" for spec.kubeConfig.
	Node string
	// Escalation marks a right that no request uses: the API server demands it of users
	// who write roles and bindings.
	Escalation bool
}

// maxRights bounds the rights of one graph. Roles in it can name more than fit in memory:
// a rule stands for every combination of its groups, resources, verbs and names.
const maxRights = 50_000

// ErrTooManyRights is returned for a graph with more than 50,000 rights.
var ErrTooManyRights = fmt.Errorf("the nodes of the graph need more than %d rights", maxRights)

// Rights returns the rights that a user needs to do what the nodes of a graph do, without
// duplicates and in the order of the nodes. They are those that [Generate] grants with
// ByName and NoCauses, and in addition escalate and bind for roles whose rules are known
// only after the apply. The resources precede those that the graph defines: a definition
// in a graph must not turn the rights on a kind of the cluster into other rights.
//
// What a graph does in another cluster needs rights there. Here its author needs the right to
// get the Secret with the kubeconfig, as its account does.
//
// The error joins an [*UnknownKindError] for every kind whose resource isn't known; the
// rights of all other nodes are then returned, too.
func Rights(rg *v1alpha1.ResourceGraph, resources Resources) ([]NodeRight, error) {
	r := rights{seen: map[Right]bool{}}
	if ref := rg.Spec.KubeConfig; ref != nil {
		r.add("", false, Right{Verb: "get", Resource: "secrets", Namespace: rg.Namespace, Name: ref.SecretRef.Name})
		return r.all, nil
	}
	known := Resources{}
	known.defineFromGraph(rg)
	maps.Copy(known, resources)
	read := graph.ReadObjects(rg)
	for i := range read.Nodes {
		n := &node{Node: &read.Nodes[i], graph: rg}
		// A generator for each node, so that its grants are those of the node.
		g := &generator{options: Options{ByName: true, NoCauses: true}, resources: known, createdNamespaces: map[string]bool{}}
		to := &accountGrants{namespaces: map[string]*namespaceGrants{}, watched: map[schema.GroupResource]bool{}}
		if err := g.addNode(to, n); err != nil {
			r.problems = append(r.problems, fmt.Errorf("node %s: %w", n.ID, err))
			continue
		}
		g.allowBinds()
		for _, namespace := range slices.Sorted(maps.Keys(to.namespaces)) {
			r.addGrants(n.ID, namespace, to.namespaces[namespace])
		}
		if r.count > maxRights {
			return nil, ErrTooManyRights
		}
	}
	return r.all, errors.Join(r.problems...)
}

// rights collects the rights of nodes.
type rights struct {
	all      []NodeRight
	seen     map[Right]bool
	count    int // also of duplicates, to bound the time
	problems []error
}

// add adds a right that isn't there yet. It returns false if there are too many.
func (r *rights) add(node string, escalation bool, right Right) bool {
	if r.count++; r.count > maxRights {
		return false
	}
	if !r.seen[right] {
		r.seen[right] = true
		r.all = append(r.all, NodeRight{Right: right, Node: node, Escalation: escalation})
	}
	return true
}

// addGrants adds the rights of a node in one namespace.
func (r *rights) addGrants(node, namespace string, g *namespaceGrants) {
	for _, granted := range []map[target]verbs{g.verbs, g.unknown} {
		targets := slices.SortedFunc(maps.Keys(granted), func(a, b target) int {
			return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.name, b.name))
		})
		for _, t := range targets {
			for _, verb := range granted[t].sorted() {
				r.add(node, verb == "bind" || verb == "escalate",
					Right{Verb: verb, Group: t.group, Resource: t.resource, Namespace: namespace, Name: t.name})
			}
		}
	}
	for _, rule := range g.copied {
		r.addRule(node, namespace, rule)
	}
}

// addRule adds every combination of a rule until there are too many. "*" is kept: in a
// review it stands for everything, as in a rule.
func (r *rights) addRule(node, namespace string, rule rbacv1.PolicyRule) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range rule.Verbs {
		for _, url := range rule.NonResourceURLs {
			if !r.add(node, true, Right{Verb: verb, URL: url}) {
				return
			}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				resource, subresource, _ := strings.Cut(resource, "/")
				for _, name := range names {
					right := Right{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
					if !r.add(node, true, right) {
						return
					}
				}
			}
		}
	}
}
