package kube

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// requests tells what a request means, as API servers do.
var requests = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// questions are the resources that are created to ask something about the user.
var questions = []string{
	"selfsubjectaccessreviews.authorization.k8s.io", "selfsubjectrulesreviews.authorization.k8s.io", "selfsubjectreviews.authentication.k8s.io",
}

// reads reports whether a request changes nothing and opens no connection into the cluster. A deletion
// is never a dry run, because its body decides that.
func reads(r *http.Request, info *request.RequestInfo) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return r.Header.Get("Upgrade") == "" && info.Verb != "proxy" && !slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, info.Subresource)
	case http.MethodPatch:
		return info.IsResourceRequest && info.Subresource == "" && slices.Equal(r.URL.Query()["dryRun"], []string{metav1.DryRunAll})
	case http.MethodPost:
		return info.Subresource == "" && slices.Contains(questions, info.Resource+"."+info.APIGroup)
	}
	return false
}

// Reader returns a handler that forwards requests to the selected cluster as the selected user, if they
// only read. The paths of requests begin with prefix, such as /secret.
func (f *ConnectionFlags) Reader(prefix string) (http.Handler, error) {
	config, err := f.config(func(string) {})
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, kubeconfigError(err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, kubeconfigError(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(base)
			r.Out.Header.Del("Authorization")
			for name := range r.Out.Header {
				if strings.HasPrefix(name, "Impersonate-") {
					r.Out.Header.Del(name)
				}
			}
		},
		Transport: transport,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			answer(w, r, apierrors.NewServiceUnavailable(Error(err).Error()))
		},
	}
	return http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, err := requests.NewRequestInfo(r)
		if err != nil || !reads(r, info) {
			answer(w, r, apierrors.NewForbidden(schema.GroupResource{}, "", fmt.Errorf("%s %s is not a request that only reads", r.Method, r.URL.Path)))
			return
		}
		proxy.ServeHTTP(w, r)
	})), nil
}

// answer writes an error as API servers do.
func answer(w http.ResponseWriter, r *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, scheme.Codecs.WithoutConversion(), schema.GroupVersion{Version: "v1"}, w, r)
}

// Names are those that the kubeconfig has for the selected cluster.
type Names struct{ Context, Namespace string }

// Selected returns the names of the selected cluster.
func (f *ConnectionFlags) Selected() (n Names, err error) {
	loader := f.flags.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err == nil {
		n.Context = cmp.Or(*f.flags.Context, raw.CurrentContext)
		n.Namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return Names{}, kubeconfigError(err)
	}
	return n, nil
}

// WriteConfig writes a kubeconfig for the server at an address, with the names of a cluster, and returns
// the flags that select it.
func (n Names) WriteConfig(file string, server *url.URL) ([]string, error) {
	name := cmp.Or(n.Context, "default")
	config := clientcmdapi.NewConfig()
	config.CurrentContext = name
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server.String()}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: n.Namespace}
	return []string{"--kubeconfig=" + file, "--context=" + name, "--cluster=" + name, "--user=" + name}, clientcmd.WriteToFile(*config, file)
}
