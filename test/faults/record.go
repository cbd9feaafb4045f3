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

// Request is one request that reached the proxy.
type Request struct {
	Time time.Time
	// Verb is the API's: get, list, watch, create, update, patch, delete,
	// deletecollection, and apply for a patch that is a server-side apply.
	Verb string
	// Resource is plural, with its group and subresource: "pods",
	// "deployments.apps", "deployments.apps/status". For what is no resource it
	// is the path: "/apis/apps/v1".
	Resource        string
	Namespace, Name string
	UserAgent       string
	// As is whom the request impersonates.
	As     string
	DryRun bool
	// Fault is what happened to it, as text; empty if it passed.
	Fault string
}

// Write says whether the request would change the cluster.
func (r Request) Write() bool {
	return !r.DryRun && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) && !strings.HasPrefix(r.Resource, "/")
}

// Discovery says whether the request asks what the API server offers.
func (r Request) Discovery() bool {
	for _, path := range []string{"/api", "/apis", "/openapi", "/version"} {
		if r.Resource == path || strings.HasPrefix(r.Resource, path+"/") {
			return true
		}
	}
	return false
}

// Key is what Counts tells apart.
type Key struct{ Verb, Resource, UserAgent string }

// Requests are all requests since the start or the last Reset, in the order of
// their arrival.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.record)
}

// Counts is how many requests there were of each kind since the start or the
// last Reset.
func (p *Proxy) Counts() map[Key]int {
	counts := map[Key]int{}
	for _, r := range p.Requests() {
		counts[Key{r.Verb, r.Resource, r.UserAgent}]++
	}
	return counts
}

// Count is how many requests since the start or the last Reset match.
func (p *Proxy) Count(match func(Request) bool) int {
	count := 0
	for _, r := range p.Requests() {
		if match(r) {
			count++
		}
	}
	return count
}

// Faults is how often each fault happened since the start or the last Reset.
func (p *Proxy) Faults() map[string]int {
	faults := map[string]int{}
	for _, r := range p.Requests() {
		faults[r.Fault]++
	}
	maps.DeleteFunc(faults, func(fault string, _ int) bool { return fault == "" })
	return faults
}

// Reset empties the record.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record = nil
}

// describe reads a request as the API server does.
func describe(r *http.Request) Request {
	request := Request{Time: time.Now(), UserAgent: r.UserAgent(), As: r.Header.Get("Impersonate-User"), DryRun: r.URL.Query().Has("dryRun")}
	factory := apirequest.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}
	info, err := factory.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest {
		// What the API server couldn't read either is counted by its path.
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
