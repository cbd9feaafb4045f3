package sides

import (
	"reflect"

	"github.com/pequod-io/pequod/render"
)

// reuse returns a function for the results of instances that the other side has rendered
// from the same bytes, with the same module, policies and settings. Rendering is a pure
// function of these.
func (s *Side) reuse(other *Side) func(*render.Instance, *render.Platform) (render.Result, bool) {
	if other.flags.Namespace != s.flags.Namespace || other.flags.AllowSecrets != s.flags.AllowSecrets || !other.withoutProblems() {
		return nil
	}
	same := func(file string) bool {
		path := s.Checkout.Relative(file)
		here, _ := s.sums.Load(path)
		there, ok := other.sums.Load(path)
		return ok && here == there
	}
	return func(in *render.Instance, p *render.Platform) (render.Result, bool) {
		r, ok := other.results[s.placeOf(in.File, in.Pos(), in.Cluster)]
		if !ok || len(r.problems) > 0 || !samePlatform(p, r.platform) || !samePolicies(s.policies, other.policies) || !same(in.File) ||
			in.Cluster != "" && !same(s.clusters[in.Cluster].At.File) {
			return render.Result{}, false
		}
		return render.Result{Instance: in, Platform: p, Graph: r.graph, Owned: r.owned, Positions: r.positions}, true
	}
}

// withoutProblems reports whether the side could be read as a whole.
func (s *Side) withoutProblems() bool { return len(s.Failures) == 0 }

// samePlatform reports whether two platforms render the same graphs. The digest of a module
// covers its files and those of its imports.
func samePlatform(a, b *render.Platform) bool {
	return a.Module.Digest == b.Module.Digest && a.Module.Version == b.Module.Version && a.Module.Name == b.Module.Name &&
		a.ServiceAccountName == b.ServiceAccountName && a.DeletionPolicy == b.DeletionPolicy &&
		reflect.DeepEqual(a.Names, b.Names) && samePolicies(a.Policies, b.Policies)
}

// samePolicies reports whether two lists have the same policies in the same order.
func samePolicies(a, b []*render.Policy) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Module.Digest != b[i].Module.Digest {
			return false
		}
	}
	return true
}
