package main

import (
	"strconv"
	"strings"
)

// scraperRole returns the objects that let the account scraper of a namespace read metrics.
func scraperRole(namespace string) string {
	return `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scraper}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scraper}
subjects: [{kind: ServiceAccount, name: scraper, namespace: ` + namespace + `}]
`
}

// value returns the sum of all series of a metric.
func value(metrics, name string) (sum int) {
	for line := range strings.Lines(metrics) {
		if series, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && (series == name || strings.HasPrefix(series, name+"{")) {
			n, err := strconv.ParseFloat(v, 64)
			if err == nil {
				sum += int(n)
			}
		}
	}
	return sum
}
