package cluster

import (
	"context"
	"encoding/json"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/applier/engine"
)

// checkRecreation returns an error if an object that is about to be deleted could
// not be created again as want. It sends the creation as a dry run, so that
// validation, policies, webhooks and authorization decide about it while the
// object still exists. It accepts a nil want, for an object that isn't recreated.
//
// The object still has the name. The API server checks that after everything
// else, so AlreadyExists means that the creation is allowed.
func (c *Client) checkRecreation(ctx context.Context, a address, want *engine.ApplyRequest) error {
	if want == nil || len(want.Unknown) > 0 {
		return nil // what a plan doesn't know yet may be required
	}
	object := runtime.DeepCopyJSON(want.Object)
	if err := completeObject(object, want); err != nil {
		return err
	}
	err := c.dryCreate(ctx, a, want.Manager, object)
	if isAllocated(err) {
		// A Service that is to be recreated holds its own addresses and ports, and the
		// API server allocates them before it checks anything else.
		removeAllocated(object)
		err = c.dryCreate(ctx, a, want.Manager, object)
	}
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	f := *Classify(err)
	f.Immutable = false // the object isn't deleted
	f.Message = "isn't deleted to recreate it, because its creation is refused: " + f.Message
	return &f
}

// dryCreate sends a dry run of the creation of an object.
func (c *Client) dryCreate(ctx context.Context, a address, manager string, object map[string]any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return c.rest.Post().MaxRetries(0).AbsPath(a.collectionPath()...).Body(body).
		SetHeader("Content-Type", "application/json").Param("dryRun", metav1.DryRunAll).
		Param("fieldManager", manager).Param("fieldValidation", metav1.FieldValidationStrict).Do(ctx).Error()
}

// isAllocated reports whether an error is about an address or port of a Service
// that is in use.
func isAllocated(err error) bool {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil || status.Status().Details.Kind != "Service" {
		return false
	}
	return strings.Contains(status.Status().Message, "already allocated")
}

// removeAllocated removes the addresses and ports of a Service that the API server
// allocates if they are missing.
func removeAllocated(service map[string]any) {
	spec, _ := service["spec"].(map[string]any)
	for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		delete(spec, field)
	}
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if p, ok := port.(map[string]any); ok {
			delete(p, "nodePort")
		}
	}
}
