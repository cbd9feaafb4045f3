// Package converting recognizes definitions whose objects pequod-manager converts. The command
// line uses it, too, so it links no client for Kubernetes.
package converting

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Path is the path of the manager's conversion webhook. A conversion with another path is one of
// others, which is left alone.
const Path = "/convert-instances"

// ByManager reports whether a conversion calls the manager. The conversion may be nil.
func ByManager(c *apiextensionsv1.CustomResourceConversion) bool {
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return false
	}
	switch config := c.Webhook.ClientConfig; {
	case config.Service != nil && config.Service.Path != nil:
		return *config.Service.Path == Path
	case config.URL != nil:
		return strings.HasSuffix(*config.URL, Path)
	}
	return false
}
