package kube

import "strings"

// ResourceName returns the name of an object as kubectl prints it when it changes
// one: KIND[.GROUP]/NAME, such as "deployment.apps/web".
func ResourceName(group, kind, name string) string {
	resource := strings.ToLower(kind)
	if group != "" {
		resource += "." + group
	}
	return resource + "/" + name
}
