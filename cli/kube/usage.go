package kube

// connectionUsage are the descriptions of the connection flags in the style of
// pequod's other flags. A flag that is missing here keeps kubectl's description.
var connectionUsage = map[string]string{
	"as":                       "username to impersonate; may be a service account: system:serviceaccount:NAMESPACE:NAME",
	"as-group":                 "group to impersonate; requires --as; can be repeated",
	"as-uid":                   "UID to impersonate; requires --as",
	"as-user-extra":            "extra field of the impersonated user, as KEY=VALUE; requires --as; can be repeated",
	"cache-dir":                "directory of kubectl's cache of API discovery (default: $KUBECACHEDIR, or ~/.kube/cache)",
	"certificate-authority":    "path to the certificate of the API server's authority",
	"client-certificate":       "path to a client certificate file for TLS",
	"client-key":               "path to a client key file for TLS",
	"cluster":                  "name of the kubeconfig cluster to use",
	"context":                  "name of the kubeconfig context to use",
	"disable-compression":      "don't ask the API server to compress its responses",
	"insecure-skip-tls-verify": "don't check the certificate of the API server; this makes HTTPS connections insecure",
	"kubeconfig":               "path to the kubeconfig file (default: $KUBECONFIG, or ~/.kube/config)",
	"proxy-url":                "URL of the proxy to use for requests to the API server",
	"request-timeout":          "time limit of a single request, such as 5s, except for watches; 0 means 30s, which is also the maximum",
	"server":                   "address and port of the API server",
	"tls-server-name":          "server name to check the certificate of the API server with (default: its host name)",
	"token":                    "bearer token for authentication to the API server",
	"user":                     "name of the kubeconfig user to use",
}

// fileFlags are the connection flags that name files; shells complete their values.
var fileFlags = []string{"cache-dir", "certificate-authority", "client-certificate", "client-key", "kubeconfig"}
