package program

import (
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// mapper returns a provider of a mapper that knows the scopes of some kinds, and finds all
// others by discovery. A manager asks for the kinds of its cache before it serves probes, so
// that without this a program would end if it starts while the API server is away.
func mapper(scopes map[schema.GroupVersionKind]meta.RESTScope) func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return func(config *rest.Config, client *http.Client) (meta.RESTMapper, error) {
		discovered, err := apiutil.NewDynamicRESTMapper(config, client)
		if err != nil || len(scopes) == 0 {
			return discovered, err
		}
		known := meta.NewDefaultRESTMapper(nil)
		for kind, scope := range scopes {
			known.Add(kind, scope)
		}
		return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{known, discovered}}, nil
	}
}
