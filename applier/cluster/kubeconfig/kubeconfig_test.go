package kubeconfig

import (
	"strings"
	"testing"
)

const good = `
apiVersion: v1
kind: Config
current-context: b
contexts:
- {name: a, context: {cluster: none, user: none}}
- {name: b, context: {cluster: there, user: me, namespace: shop}}
clusters:
- {name: there, cluster: {server: "https://canary.example.com:6443"}}
users:
- {name: me, user: {token: canary-token}}
- {name: other, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: id, interactiveMode: Never}}}
`

// Only the current context counts, and of it only data.
func TestParse(t *testing.T) {
	config, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://canary.example.com:6443" || config.BearerToken != "canary-token" {
		t.Errorf("got %s, %s", config.Host, config.BearerToken)
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct{ was, is, message string }{
		{"token: canary-token", "tokenFile: /var/run/secrets/canary", "tokenFile isn't allowed"},
		{"token: canary-token", "exec: {apiVersion: client.authentication.k8s.io/v1, command: canary, interactiveMode: Never}", "exec isn't allowed"},
		{"token: canary-token", "auth-provider: {name: canary}", "auth-provider isn't allowed"},
		{"token: canary-token", "client-certificate: /canary", "client-certificate isn't allowed"},
		{"token: canary-token", "client-key: /canary", "client-key isn't allowed"},
		{"token: canary-token", "username: canary, password: canary", "username isn't allowed"},
		{"token: canary-token", "token: canary, as: canary", "as isn't allowed"},
		{"token: canary-token", "token: canary, as-groups: [system:masters]", "as isn't allowed"},
		{"token: canary-token", "client-certificate-data: Y2FuYXJ5", "aren't a certificate and its key"},
		{"token: canary-token", "client-key-data: canary!", "it can't be read"},
		{"token: canary-token", "", "neither a token nor a client certificate"},
		{":6443\"", ":6443\", certificate-authority: /canary", "certificate-authority isn't allowed"},
		{":6443\"", ":6443\", insecure-skip-tls-verify: true", "insecure-skip-tls-verify isn't allowed"},
		{":6443\"", ":6443\", proxy-url: \"http://canary\"", "proxy-url isn't allowed"},
		{":6443\"", ":6443\", certificate-authority-data: Y2FuYXJ5", "certificate-authority-data has no certificate"},
		{"https://", "http://", "server isn't an https URL"},
		{"https://", "https://canary:canary@", "server isn't an https URL"},
		{"https://", "https://%zz", "server isn't an https URL"},
		{"https://canary.example.com", "https://", "server isn't an https URL"},
		{"current-context: b", "", "current-context names no context"},
		{"current-context: b", "current-context: a", "names a cluster or a user that isn't there"},
		{"kind: Config", "kind: Canary", "it can't be read"},
		{"users:", "canary", "it can't be read"},
		{"users:", "# " + strings.Repeat("canary", maxSize) + "\nusers:", "more than 64 KiB"},
	} {
		if !strings.Contains(good, test.was) {
			t.Fatalf("%q isn't there", test.was)
		}
		_, err := Parse([]byte(strings.Replace(good, test.was, test.is, 1)))
		if err == nil || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: got %v; want %s", test.is, err, test.message)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the error quotes the kubeconfig: %v", test.is, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, "https", "HTTPS", 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := Parse(data)
		if err != nil {
			return
		}
		if !strings.HasPrefix(config.Host, "https://") || config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != "" ||
			config.Insecure || config.CAFile+config.CertFile+config.KeyFile != "" || config.Impersonate.UserName != "" {
			t.Errorf("got %v", config)
		}
	})
}
