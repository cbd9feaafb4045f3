package kube

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
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

// TestReader checks that requests need the secret of the path, and reach the cluster with the credentials of the
// kubeconfig instead of their own, if they only read.
func TestReader(t *testing.T) {
	var got []string
	cluster := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("Impersonate-User"))
	}))
	defer cluster.Close()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: "a", Contexts: map[string]*clientcmdapi.Context{"a": {Cluster: "a", AuthInfo: "a"}},
		Clusters:  map[string]*clientcmdapi.Cluster{"a": {Server: cluster.URL, InsecureSkipTLSVerify: true}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"a": {Token: "of-the-user"}},
	}, config); err != nil {
		t.Fatal(err)
	}
	flags, cmd := &ConnectionFlags{}, &cobra.Command{}
	flags.AddFlags(cmd)
	if err := cmd.ParseFlags([]string{"--kubeconfig=" + config}); err != nil {
		t.Fatal(err)
	}
	reader, err := flags.Reader("/secret")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		line string
		code int
		got  string
	}{
		{"GET /secret/api/v1/pods", 200, "GET /api/v1/pods Bearer of-the-user"},
		{"GET /api/v1/pods", 404, ""},
		{"GET /guess/api/v1/pods", 404, ""},
		{"DELETE /secret/api/v1/namespaces/a/pods/web", 403, ""},
		{"GET /secret/api/v1/namespaces/a/pods/web/exec?command=id", 403, ""},
	} {
		got = nil
		method, path, _ := strings.Cut(test.line, " ")
		r, w := httptest.NewRequest(method, path, nil), httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer of-the-client")
		r.Header.Set("Impersonate-User", "admin")
		reader.ServeHTTP(w, r)
		if w.Code != test.code || strings.Join(got, ", ") != test.got {
			t.Errorf("%s: %d, the cluster got %q", test.line, w.Code, got)
		}
	}
}
