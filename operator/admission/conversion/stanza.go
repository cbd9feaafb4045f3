package conversion

import (
	"context"
	"net/url"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/operator/definitions/converting"
)

// Stanza returns the conversion of definitions, or nil as long as the configuration has neither the
// address of the manager nor its authorities. Both are those of the first webhook
// in a configuration, so that whoever keeps them there keeps them here.
func Stanza(ctx context.Context, c client.Reader, configuration string) (*apiextensionsv1.CustomResourceConversion, error) {
	live := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err := c.Get(ctx, client.ObjectKey{Name: configuration}, live)
	if err != nil || len(live.Webhooks) == 0 {
		return nil, client.IgnoreNotFound(err)
	}
	like := live.Webhooks[0].ClientConfig
	if len(like.CABundle) == 0 {
		return nil, nil
	}
	config := &apiextensionsv1.WebhookClientConfig{CABundle: like.CABundle}
	switch {
	case like.Service != nil:
		config.Service = &apiextensionsv1.ServiceReference{
			Namespace: like.Service.Namespace, Name: like.Service.Name, Port: like.Service.Port, Path: new(converting.Path),
		}
	case like.URL != nil:
		u, err := url.Parse(*like.URL)
		if err != nil {
			return nil, err
		}
		u.Path = converting.Path
		config.URL = new(u.String())
	}
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: config, ConversionReviewVersions: []string{"v1"}},
	}, nil
}
