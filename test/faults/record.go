package faults

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Request is a request that reached the proxy.
type Request struct {
	// Time is that of the arrival at the proxy.
	Time time.Time
	// Verb is the API verb: get, list, watch, create, update, patch, delete or
	// deletecollection, or apply for a server-side apply patch.
	Verb string
	// Resource is the plural name with group and subresource: "pods",
	// "deployments.apps", "deployments.apps/status". For requests that address no
	// resource it is the path: "/apis/apps/v1".
	Resource string
	// Namespace and Name are empty where the request has none. The name of an
	// object that is created is in the body, and so not known.
	Namespace, Name string
	// UserAgent is the header of that name, which tells clients of one proxy
	// apart.
	UserAgent string
	// As is the impersonated user.
	As     string
	DryRun bool
	// Continues means that the request is for a further page of a list.
	Continues bool
	// Labels is the label selector.
	Labels string
	// Fault describes the injected fault. It is empty if the request was
	// forwarded.
	Fault string
}

// Write reports whether the request would change the cluster. Reviews of access and of tokens are created,
// but they are questions.
func (r Request) Write() bool {
	return !r.DryRun && !strings.HasSuffix(r.Resource, "reviews.authorization.k8s.io") && !strings.HasSuffix(r.Resource, "reviews.authentication.k8s.io") && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) && !strings.HasPrefix(r.Resource, "/")
}

// Discovery reports whether the request is API discovery.
func (r Request) Discovery() bool {
	for _, path := range []string{"/api", "/apis", "/openapi", "/version"} {
		if r.Resource == path || strings.HasPrefix(r.Resource, path+"/") {
			return true
		}
	}
	return false
}

// Key groups requests in Counts.
type Key struct{ Verb, Resource, UserAgent string }

// Requests returns all requests since the start or the last Reset, in the order
// of their arrival.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.record)
}

// Counts returns the number of requests since the start or the last Reset, by
// key.
func (p *Proxy) Counts() map[Key]int {
	counts := map[Key]int{}
	for _, r := range p.Requests() {
		counts[Key{r.Verb, r.Resource, r.UserAgent}]++
	}
	return counts
}

// Count returns the number of matching requests since the start or the last
// Reset.
func (p *Proxy) Count(match func(Request) bool) int {
	count := 0
	for _, r := range p.Requests() {
		if match(r) {
			count++
		}
	}
	return count
}

// Watched returns the label selectors with which the objects of a resource are watched in all namespaces. A watch
// that is opened again counts once.
func (p *Proxy) Watched(resource string) []string {
	selectors := sets.New[string]()
	for _, r := range p.Requests() {
		if r.Verb == "watch" && r.Resource == resource && r.Namespace == "" {
			selectors.Insert(r.Labels)
		}
	}
	return sets.List(selectors)
}

// Faults returns how often each fault was injected since the start or the last
// Reset. The keys are like "faults.Cut{After:0}", see [Request].
func (p *Proxy) Faults() map[string]int {
	faults := map[string]int{}
	for _, r := range p.Requests() {
		faults[r.Fault]++
	}
	maps.DeleteFunc(faults, func(fault string, _ int) bool { return fault == "" })
	return faults
}

// Reset clears the record.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record = nil
}

// describe parses a request in the same way as the API server.
func describe(r *http.Request) Request {
	query := r.URL.Query()
	request := Request{
		Time: time.Now(), UserAgent: r.UserAgent(), As: r.Header.Get("Impersonate-User"),
		DryRun: query.Has("dryRun"), Continues: query.Get("continue") != "", Labels: query.Get("labelSelector"),
	}
	factory := apirequest.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}
	info, err := factory.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest {
		// A request that the API server could not parse is recorded by its path.
		request.Verb, request.Resource = strings.ToLower(r.Method), r.URL.Path
		return request
	}
	request.Verb, request.Resource = info.Verb, info.Resource
	request.Namespace, request.Name = info.Namespace, info.Name
	if info.APIGroup != "" {
		request.Resource += "." + info.APIGroup
	}
	if info.Subresource != "" {
		request.Resource += "/" + info.Subresource
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
		request.Verb = "apply"
	}
	return request
}
