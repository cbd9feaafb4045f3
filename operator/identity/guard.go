package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/yaml"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/config"
)

// policyName is the name of the policy and of its binding.
const policyName = "pequod-operator-graphs"

// ByObject returns the options of the manager's cache for the objects that a [Guard] reads.
func ByObject() map[client.Object]cache.ByObject {
	one := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", policyName), Transform: cache.TransformStripManagedFields()}
	return map[client.Object]cache.ByObject{
		&admissionv1.ValidatingAdmissionPolicy{}:        one,
		&admissionv1.ValidatingAdmissionPolicyBinding{}: one,
	}
}

// Guard watches the policy that keeps users from making graphs of the manager. It is safe for
// concurrent use.
type Guard struct {
	policy  admissionv1.ValidatingAdmissionPolicySpec        // wanted
	binding admissionv1.ValidatingAdmissionPolicyBindingSpec // wanted
	changed chan struct{}

	mu          sync.Mutex
	livePolicy  *admissionv1.ValidatingAdmissionPolicy        // nil if there is none
	liveBinding *admissionv1.ValidatingAdmissionPolicyBinding // nil if there is none
}

// NewGuard returns a guard whose informers are those of c, which must have the options of
// [ByObject] and the kinds of admissionregistration.k8s.io/v1. Until c has synced, the policy
// counts as missing.
func NewGuard(ctx context.Context, c cache.Informers) (*Guard, error) {
	g := &Guard{changed: make(chan struct{}, 1)}
	var policy admissionv1.ValidatingAdmissionPolicy
	var binding admissionv1.ValidatingAdmissionPolicyBinding
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(config.GraphPolicy), len(config.GraphPolicy))
	if err := errors.Join(decoder.Decode(&policy), decoder.Decode(&binding)); err != nil {
		return nil, err
	}
	g.policy, g.binding = policy.Spec, binding.Spec
	for _, kind := range []client.Object{&policy, &binding} {
		informer, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching the ValidatingAdmissionPolicy %s, for which Kubernetes 1.30 or newer is needed: %w", policyName, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { g.set(obj, true) },
			UpdateFunc: func(_, obj any) { g.set(obj, true) },
			DeleteFunc: func(obj any) {
				if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
					obj = unknown.Obj
				}
				g.set(obj, false)
			},
		})
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// set takes the state of an object.
func (g *Guard) set(obj any, exists bool) {
	g.mu.Lock()
	before := g.refused()
	switch o := obj.(type) {
	case *admissionv1.ValidatingAdmissionPolicy:
		if g.livePolicy = nil; exists {
			g.livePolicy = o
		}
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		if g.liveBinding = nil; exists {
			g.liveBinding = o
		}
	}
	after := g.refused()
	g.mu.Unlock()
	if before != after {
		select {
		case g.changed <- struct{}{}:
		default: // the receiver will see the newest state
		}
	}
}

// Changed gets a value when [Guard.Refused] returns something else than before. Values may be
// missed, except for the last one. There can be one receiver.
func (g *Guard) Changed() <-chan struct{} { return g.changed }

// Refused returns why no graph may be executed as the account of a Transform, or "".
func (g *Guard) Refused() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused()
}

func (g *Guard) refused() string {
	const otherwise = "; without it, users could make graphs that run with the rights of a Transform: install it with 'pequod install --mode operator'"
	switch {
	case g.livePolicy == nil || g.livePolicy.DeletionTimestamp != nil:
		return "the ValidatingAdmissionPolicy " + policyName + " is missing" + otherwise
	case g.liveBinding == nil || g.liveBinding.DeletionTimestamp != nil:
		return "the ValidatingAdmissionPolicyBinding " + policyName + " is missing" + otherwise
	case !equality.Semantic.DeepEqual(g.livePolicy.Spec, g.policy):
		return "the ValidatingAdmissionPolicy " + policyName + " isn't that of this version of pequod-manager" + otherwise
	case !equality.Semantic.DeepEqual(g.liveBinding.Spec, g.binding):
		return "the ValidatingAdmissionPolicyBinding " + policyName + " isn't that of this version of pequod-manager" + otherwise
	}
	return ""
}

// Check is a readiness check: it fails while the accounts of Transforms may not be used.
func (g *Guard) Check(*http.Request) error {
	if why := g.Refused(); why != "" {
		return errors.New(why)
	}
	return nil
}
