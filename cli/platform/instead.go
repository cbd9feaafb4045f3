package platform

import (
	"errors"
	"fmt"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/transform"
)

// errNew is the error of references to modules that the earlier lock has no version of.
var errNew = fmt.Errorf("the lock had no version of the module: %w", transform.ErrLeftOut)

// unlessNew returns err, or nil if it is that of a module that is left out.
func unlessNew(err error) error {
	if errors.Is(err, transform.ErrLeftOut) {
		return nil
	}
	return err
}

// instead returns the earlier reference for a reference of today. References that are not
// locked, such as those of directories, stay as they are. Errors in a reference are reported
// by those who open it.
func instead(previous lock.Previous, ref v1alpha1.CueRef) (v1alpha1.CueRef, error) {
	var name string
	switch {
	case ref.Type == v1alpha1.CueRefGit:
		r, err := git.ParseRef(ref.Ref)
		if err != nil {
			return ref, nil
		}
		name = r.String()
	case ref.Type == v1alpha1.CueRefOCI && modpath.IsRef(ref.Ref):
		name = ref.Ref
	case ref.Type == v1alpha1.CueRefOCI:
		r, err := oci.ParseRef(ref.Ref)
		if err != nil || r.Kind != oci.Registry {
			return ref, nil
		}
		r.Digest = ""
		name = r.String()
	default:
		return ref, nil
	}
	earlier, ok := previous.Ref(name)
	if !ok {
		return ref, errNew
	}
	// The digest in a Transform is that of today; the lock has the earlier one.
	ref.Ref, ref.Digest = earlier, ""
	return ref, nil
}
