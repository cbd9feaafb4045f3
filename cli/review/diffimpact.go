package review

import (
	"context"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/impact"
	"github.com/pequod-io/pequod/internal/confine"
)

// runImpact prints what differs if the platforms are those of --against and of -p.
func (o *diffOptions) runImpact(ctx context.Context, env command.Env) error {
	old := o.RenderFlags
	old.Platforms = o.against
	if err := o.Confine(ctx, confine.Room{}, &old, &o.RenderFlags); err != nil {
		return err
	}
	m, err := impact.Compare(ctx, env, &old, &o.RenderFlags)
	if err != nil {
		return err
	}
	if o.output == "github" {
		err = writeGitHub(env.Out, m.Report)
	} else {
		err = m.Write(env.Out, o.output, o.maxSize)
	}
	if err != nil {
		return command.OutputError(err)
	}
	switch {
	case m.Unchecked():
		return command.ExitWith(command.ExitUnknown)
	case !m.Empty():
		return command.ExitWith(command.ExitNo)
	}
	return nil
}
