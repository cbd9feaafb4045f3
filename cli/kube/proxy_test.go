package kube

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReads(t *testing.T) {
	for line, want := range map[string]bool{
		"GET /api/v1/namespaces/a/pods":                                          true,
		"GET /apis/apps/v1/namespaces/a/deployments/web/status":                  true,
		"GET /api/v1/namespaces/a/pods/web/log":                                  true,
		"GET /openapi/v3/apis/apps/v1":                                           true,
		"HEAD /version":                                                          true,
		"PATCH /apis/apps/v1/namespaces/a/deployments/web?dryRun=All&force=true": true,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":            true,
		"PATCH /apis/apps/v1/namespaces/a/deployments/web":                       false,
		"PATCH /apis/apps/v1/namespaces/a/deployments/web?dryRun=":               false,
		"PATCH /apis/apps/v1/namespaces/a/deployments/web?dryRun=All&dryRun=":    false,
		"PATCH /apis/apps/v1/namespaces/a/deployments/web?DryRun=All":            false,
		"POST /api/v1/namespaces/a/configmaps?dryRun=All":                        false,
		"POST /api/v1/namespaces/a/serviceaccounts/web/token":                    false,
		"POST /api/v1/namespaces/a/pods/web/exec?command=id&dryRun=All":          false,
		"POST /apis/example.com/v1/selfsubjectaccessreviews":                     false,
		"DELETE /api/v1/namespaces/a/configmaps/x?dryRun=All":                    false,
		"DELETE /api/v1/namespaces/a/configmaps?dryRun=All":                      false,
		"PUT /api/v1/namespaces/a/configmaps/x?dryRun=All":                       false,
		"GET /api/v1/namespaces/a/pods/web/exec?command=id":                      false,
		"GET /api/v1/namespaces/a/pods/web/attach":                               false,
		"GET /api/v1/namespaces/a/pods/web/portforward":                          false,
		"GET /api/v1/namespaces/a/pods/web/proxy/":                               false,
		"GET /api/v1/namespaces/a/services/web:80/proxy/admin":                   false,
		"GET /api/v1/nodes/n/proxy/run":                                          false,
		"GET /api/v1/proxy/namespaces/a/pods/web":                                false,
		"CONNECT /api/v1/namespaces/a/pods":                                      false,
		"OPTIONS /api/v1/namespaces/a/pods":                                      false,
	} {
		method, path, _ := strings.Cut(line, " ")
		r := httptest.NewRequest(method, path, nil)
		info, err := requests.NewRequestInfo(r)
		if got := err == nil && reads(r, info); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	r := httptest.NewRequest("GET", "/api/v1/namespaces/a/pods", nil)
	r.Header.Set("Upgrade", "websocket")
	if info, err := requests.NewRequestInfo(r); err != nil || reads(r, info) {
		t.Errorf("an upgrade passes: %v", err)
	}
}
