package main

import (
	"slices"
	"strings"
)

// unused returns a warning about variables of the environment that other controllers have their settings in
// and that have no effect here, with what has, or "". The variables are in the form NAME=VALUE.
func unused(environ []string) string {
	var found []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		instead := replacement(name)
		if instead != "" && !strings.HasPrefix(value, "tcp://") { // Kubernetes sets DB_PORT for a Service db
			found = append(found, name+" (use "+instead+")")
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return "warning: variables of the environment have no effect: " + strings.Join(found, ", ")
}

// replacement returns what stands for a variable of the environment, or "".
func replacement(name string) string {
	switch name {
	case "KCO_LOG_LEVEL":
		return "--zap-log-level"
	case "KCO_METRICS_PORT":
		return "--metrics-bind-address"
	case "KCO_HEALTH_PORT":
		return "--health-probe-bind-address"
	case "KCO_GRAPHQL_TIMEOUT":
		return "spec.timeout of Monitors"
	case "DB_HOST", "DB_PORT", "DB_NAME", "DB_USER", "DB_PASSWORD":
		return "--history-url-file"
	case "GITHUB_TOKEN":
		return "auth.tokenSecretRef of Actions, and --allow-egress=api.github.com"
	}
	if setting, is := strings.CutPrefix(name, "KCO_"); is && !strings.Contains(setting, "_SERVICE_") && !strings.Contains(setting, "_PORT") {
		return "a flag that --help lists"
	}
	return ""
}
