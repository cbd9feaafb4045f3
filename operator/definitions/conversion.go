package definitions

import (
	"context"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConversionPath is the path of the manager's conversion webhook. A conversion with another
// path is one of others, which is left alone.
const ConversionPath = "/convert-instances"

// Converts reports whether the manager converts the objects of a definition.
func Converts(live *apiextensionsv1.CustomResourceDefinition) bool {
	return ownConversion(live.Spec.Conversion)
}

// ownConversion reports whether a conversion calls the manager.
func ownConversion(c *apiextensionsv1.CustomResourceConversion) bool {
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return false
	}
	switch config := c.Webhook.ClientConfig; {
	case config.Service != nil && config.Service.Path != nil:
		return *config.Service.Path == ConversionPath
	case config.URL != nil:
		return strings.HasSuffix(*config.URL, ConversionPath)
	}
	return false
}

// EndConversion makes API servers convert the objects of a definition by themselves, by
// changing their apiVersion, if the manager does it until now.
func EndConversion(ctx context.Context, c client.Client, live *apiextensionsv1.CustomResourceDefinition) error {
	if !Converts(live) {
		return nil
	}
	next := live.DeepCopy()
	next.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	return c.Patch(ctx, next, client.MergeFrom(live), client.FieldOwner(FieldManager))
}
