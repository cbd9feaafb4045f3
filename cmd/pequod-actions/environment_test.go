package main

import "testing"

// TestUnused names what stands for variables of other controllers, and leaves out those that Kubernetes sets
// for Services.
func TestUnused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		environ []string
		want    string
	}{
		{[]string{"HOME=/", "KUBERNETES_SERVICE_HOST=10.0.0.1", "DB_PORT=tcp://10.0.0.2:5432", "KCO_OPERATOR_SERVICE_HOST=10.0.0.3", "KCO_OPERATOR_PORT=tcp://10.0.0.3:80", "KCO_OPERATOR_PORT_80_TCP_ADDR=10.0.0.3"}, ""},
		{[]string{"KCO_METRICS_PORT=8080", "GITHUB_TOKEN=x", "KCO_LOG_LEVEL=DEBUG"}, "warning: variables of the environment have no effect: " +
			"GITHUB_TOKEN (use auth.tokenSecretRef of Actions, and --allow-egress=api.github.com), KCO_LOG_LEVEL (use --zap-log-level), KCO_METRICS_PORT (use --metrics-bind-address)"},
		{[]string{"DB_HOST=localhost", "DB_PORT=5432", "KCO_NEW="}, "warning: variables of the environment have no effect: " +
			"DB_HOST (use --history-url-file), DB_PORT (use --history-url-file), KCO_NEW (use a flag that --help lists)"},
	} {
		if got := unused(test.environ); got != test.want {
			t.Errorf("%q: %q, want %q", test.environ, got, test.want)
		}
	}
}
