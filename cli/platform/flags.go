package platform

import (
	"context"
	"slices"
	"time"

	"cuelang.org/go/cue/ast"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

// moduleSubject returns the subject of evaluations of the module that arg refers to.
func (f *LimitFlags) ModuleSubject(ctx context.Context, arg string) render.Subject {
	return render.Subject{Name: arg, Files: func() []*ast.File {
		ref, err := modules.ParseRef(arg)
		if err != nil {
			return nil
		}
		return moduleFiles(ctx, f.Modules, ref, "")
	}}
}

// openPolicy loads the policy module that arg refers to.
func (f *LimitFlags) OpenPolicy(ctx context.Context, arg string) (*render.Policy, error) {
	ref, err := modules.ParseRef(arg)
	if err != nil {
		return nil, err
	}
	return loadPolicy(ctx, f.Modules, ref, "")
}

// platformFlags are those of every command that evaluates modules.
type Flags struct {
	Platforms []string
	LimitFlags
}

// limitFlags bound evaluations.
type LimitFlags struct {
	timeout time.Duration
	memory  int
	// modules opens the modules of the command, each once.
	Modules *modules.Opener
}

func (f *Flags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.Platforms, "platform", "p", nil,
		"platform: a Transform file, a directory of them, or a module (./dir, embedded:NAME); repeatable")
	f.LimitFlags.AddFlags(cmd)
	command.Must(cmd.RegisterFlagCompletionFunc("platform", CompletePlatforms))
}

func (f *LimitFlags) AddFlags(cmd *cobra.Command) {
	f.Modules = &modules.Opener{}
	fl := cmd.Flags()
	fl.DurationVar(&f.timeout, "eval-timeout", 10*time.Second, "end the evaluation of one instance or module after this time; 0 means never")
	fl.IntVar(&f.memory, "eval-memory", 1024, "end an evaluation that brings the process's memory over this many MiB; 0 means never")
}

func (f *LimitFlags) Limits() render.Limits {
	return render.Limits{Timeout: f.timeout, Memory: uint64(max(f.memory, 0)) << 20}
}

// completePlatforms offers the embedded modules, and files and directories.
func CompletePlatforms(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, name := range modules.Embedded() {
		names = append(names, "embedded:"+name)
	}
	return names, cobra.ShellCompDirectiveDefault
}

// open loads the platforms that the flags name.
func (f *Flags) LoadPlatforms(ctx context.Context) (*Catalog, error) {
	var all []transform
	for i, arg := range f.Platforms {
		if slices.Contains(f.Platforms[:i], arg) {
			continue // completion gives every flag twice
		}
		ts, err := transforms(f.Modules, arg)
		if err != nil {
			return nil, err
		}
		all = append(all, ts...)
	}
	platforms, err := render.Map(ctx, f.Limits(), all,
		func(t transform) render.Subject { return t.subject(ctx) },
		func(t transform) (*render.Platform, error) { return t.load(ctx) })
	if err != nil {
		return nil, err
	}
	c := &Catalog{modules: f.Modules}
	for _, p := range platforms {
		if err := c.add(p); err != nil {
			return nil, err
		}
	}
	return c, nil
}
