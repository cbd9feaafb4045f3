package main

import (
	"context"
	"net/http"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/pequod-io/pequod/cmd/internal/incluster"
	"github.com/pequod-io/pequod/operator/admission/conversion"
	"github.com/pequod-io/pequod/operator/admission/instances"
	hooks "github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/operator/admission/transforms"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/definitions/converting"
	"github.com/pequod-io/pequod/operator/follow"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/operator/revision"
	"github.com/pequod-io/pequod/operator/worker"
)

// webhookParts are shared by the webhooks and the controllers.
type webhookParts struct {
	// platforms and converting are the catalogs of the controller of Transforms, which are empty
	// in replicas that don't lead.
	platforms, converting *catalog.Catalog
	revisions             revision.Store
	pool                  *worker.Pool
	evaluator             *instance.Evaluator
}

// setupWebhooks adds the webhooks to the manager if --webhooks is set.
func (o *options) setupWebhooks(
	ctx context.Context, m manager.Manager, s *incluster.Settings, with webhookParts,
) error {
	if !s.Webhooks.Enabled {
		return nil
	}
	followed := catalog.New()
	of := func(kind schema.GroupKind, catalogs ...*catalog.Catalog) (entries []*catalog.Entry) {
		for _, c := range catalogs {
			if e := c.Get(kind); e != nil {
				entries = append(entries, e)
			}
		}
		return entries
	}
	if err := follow.Setup(m, follow.Options{
		Catalog: followed, Revisions: with.revisions, Policies: o.policiesKey(), Loader: with.pool, Allowed: o.allows,
	}); err != nil {
		return err
	}
	registration := &instances.Registration{
		Catalog: with.platforms, Configuration: hooks.Manager, Namespace: s.Webhooks.InNamespace(), Allowed: o.allows,
		FailurePolicy: admissionregistrationv1.FailurePolicyType(o.failurePolicy),
	}
	if err := registration.Setup(ctx, m); err != nil {
		return err
	}
	ofInstances := instances.New(instances.Options{
		Platform: func(kind schema.GroupKind) *catalog.Entry {
			for _, e := range of(kind, with.platforms, followed) {
				return e
			}
			return nil
		},
		Validator: with.evaluator,
	})
	conversions := &conversion.Webhook{
		Platforms: func(kind schema.GroupKind) []*catalog.Entry {
			return of(kind, with.converting, with.platforms, followed)
		},
		Converter: conversion.Pooled(with.pool),
	}
	ofTransforms := &transforms.Webhook{Allowed: o.allows, Transforms: m.GetClient(), Definitions: m.GetAPIReader(), Mapper: m.GetRESTMapper()}
	return s.SetupWebhooks(ctx, m, hooks.Manager, map[string]admission.Handler{
		hooks.InstancesPath: ofInstances, hooks.TransformsPath: ofTransforms,
	}, map[string]http.Handler{converting.Path: conversions})
}

// allows reports whether Transforms of a namespace are used.
func (o *options) allows(namespace string) bool {
	if len(o.transformNamespaces) == 0 {
		return namespace == o.namespace
	}
	return slices.Contains(o.transformNamespaces, namespace) || slices.Contains(o.transformNamespaces, "*")
}
