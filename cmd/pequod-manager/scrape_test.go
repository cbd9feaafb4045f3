package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
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

// exported are the lines of a scrape that tell the types of Pequod's metrics.
var exported = regexp.MustCompile(`(?m)^# TYPE (pequod_\w+) (\w+)$`)

// checkDocumented checks that the handbook lists every metric that the program exports, with its
// type, and that an alert or a dashboard shows it.
func checkDocumented(t *testing.T, scraped string) {
	t.Helper()
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	handbook := read("docs/operations.md")
	shown := read("config/prometheus/manager/rules.yaml") + read("config/prometheus/manager/dashboard.json") +
		read("config/prometheus/base/rules.yaml") + read("config/prometheus/base/dashboard.json")
	found := exported.FindAllStringSubmatch(scraped, -1)
	if len(found) < 20 {
		t.Errorf("only %d metrics are exported", len(found))
	}
	for _, m := range found {
		name, kind := m[1], m[2]
		if !strings.Contains(handbook, "| `"+name+"` | "+kind+" |") {
			t.Errorf("docs/operations.md doesn't list the %s %s", kind, name)
		}
		if !regexp.MustCompile(`\b` + name + `(?:_bucket|_count|_sum)?\b`).MatchString(shown) {
			t.Errorf("neither an alert nor a dashboard shows %s", name)
		}
	}
}
