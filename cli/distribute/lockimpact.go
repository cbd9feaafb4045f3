package distribute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/impact"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/oci"
)

// printImpact prints what differs if the instances of -f are rendered with the modules of the
// new file instead of those of the old one. It returns the number of instances that are no
// longer valid. The modules of the new file are open already.
func (o *moduleLockOptions) printImpact(ctx context.Context, env command.Env, old, file *lock.File) (broken int, err error) {
	platforms, err := o.Before(old, file)
	if err != nil {
		return 0, err
	}
	before := o.RenderFlags
	before.Flags = *platforms
	m, err := impact.Compare(ctx, env, &before, &o.RenderFlags)
	if err != nil {
		return 0, notComparable(err, lock.Compare(old, file))
	}
	m.Base.Name, m.Head.Name = "modules of the old pequod.lock", "modules of the new pequod.lock"
	if _, err := fmt.Fprintln(env.Out); err != nil {
		return 0, command.OutputError(err)
	}
	if err := m.Write(env.Out, "text", 0); err != nil {
		return 0, command.OutputError(err)
	}
	if m.Unchecked() {
		return 0, command.ExitWith(command.ExitUnknown)
	}
	return m.Broken(), nil
}

// notComparable returns err, or an error with both digests if an old artifact no longer
// exists. A registry may remove an artifact whose tag was moved.
func notComparable(err error, changes []lock.Change) error {
	var missing *oci.Error
	if !errors.As(err, &missing) || missing.Cause != oci.NotFound {
		return err
	}
	for _, c := range changes {
		if c.Old != nil && c.New != nil && c.Old.Digest != "" && strings.HasSuffix(missing.Ref, c.Old.Digest) {
			return fmt.Errorf("%s: the registry no longer has %s, which is locked, so instances can't be compared with %s; --force writes %s nevertheless",
				c.Old.Name(), c.Old.Digest, c.New.Digest, lock.FileName)
		}
	}
	return err
}
