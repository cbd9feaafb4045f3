// Package platform loads the platforms and policy modules that flags name.
//
//   - flags.go: -p and the limits of evaluation, and LoadPlatforms
//   - locate.go: the place of -p, on disk or in a git revision
//   - transform.go: Transform files, directories of them, and modules without one
//   - transformcheck.go: fields that the API server would refuse, and their positions;
//     clustercheck.go checks those that only matter in a cluster, and checker.go has
//     the checks of single values
//   - module.go: modules without a platform
//   - registry.go: the flags for registries; artifacts.go adds the cache
//   - published.go: modules from registries
//   - pins.go: the flags for pequod.lock and the cache
//   - previous.go: the same platforms with the modules of an earlier pequod.lock; instead.go
//     finds their references
//   - guard.go: the rules of pequod.yaml about modules
//   - catalog.go: the lookup of the platform of an instance
//
// A platform is a CUE module together with its Transform. These values of -p are
// possible:
//
//	-p embedded:webservice    a module that is part of the program
//	-p ./shop                 a module: a directory with a .cue file
//	-p oci://HOST/REPO:TAG    a module of a registry; also oci-layout:DIR and FILE.oci.tar
//	-p example.com/shop@v1    a published module, by its path
//	-p git::https://…?ref=v1  a module of a git repository; also ssh and file
//	-p platforms/             a directory of Transforms
//	-p platforms/shop.yaml    a file of Transforms
//	-p main:platforms         one of the last three in a git revision
//
// The entry point is [Flags.LoadPlatforms]. The result is a [Catalog], which
// finds the platform of an instance. Evaluations run under the limits of
// [LimitFlags], because a module may not terminate. Fetching and reading of modules
// is in package modules, and evaluation in package render.
package platform

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"cuelang.org/go/cue/ast"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/pin"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/modules/trust"
	"github.com/pequod-io/pequod/render"
)

// ModuleSubject returns the subject of evaluations of the module that arg refers
// to. Its files are read only if an evaluation exceeds a limit, to explain the
// cause.
func (f *ModuleFlags) ModuleSubject(ctx context.Context, arg string) render.Subject {
	return render.Subject{Name: arg, Files: func() []*ast.File {
		ref, at, err := locate(ctx, arg)
		if err != nil {
			return nil
		}
		return moduleFiles(ctx, f.Modules, ref, at)
	}}
}

// OpenPolicy loads the policy module that arg refers to. Relative paths start at
// the working directory. Loading evaluates the module, so callers run it under
// the limits. It returns nil for a policy that [Flags.Before] has no earlier version of.
func (f *ModuleFlags) OpenPolicy(ctx context.Context, arg string) (*render.Policy, error) {
	ref, at, err := locate(ctx, arg)
	if err != nil {
		return nil, err
	}
	p, err := loadPolicy(ctx, f.Modules, ref, at)
	return p, unlessNew(err)
}

// Flags are the flags of commands that load platforms: -p and [ModuleFlags].
type Flags struct {
	// Platforms are the values of -p, in the order of the command line. They may
	// be empty: instances of embedded modules need none.
	Platforms []string
	// Failed gets the name and the error of a platform that can't be loaded, and the others
	// are still loaded. If it is nil, the first error ends the loading. A command sets it;
	// it is no flag.
	Failed func(name string, err error)
	ModuleFlags
}

// ModuleFlags are the flags of all commands that load modules. Commands without -p, such
// as module test, have only these.
type ModuleFlags struct {
	// RegistryFlags are for modules of registries.
	RegistryFlags
	// PinFlags decide which versions are loaded.
	PinFlags
	// LimitFlags limit the loading of modules, and the rendering with them.
	LimitFlags
	// Modules opens the modules of the command, each once. AddFlags sets it, so
	// it is nil in flags that are not registered with a command.
	Modules *modules.Opener
}

// LimitFlags are the flags that limit evaluations. Commands that load no modules, such as
// module import, have only these.
type LimitFlags struct {
	// timeout is --eval-timeout, the limit of one evaluation; 0 means no limit.
	timeout time.Duration
	// memory is --eval-memory, the limit of the process in MiB; 0 and negative
	// values mean no limit.
	memory int
}

// AddFlags registers the flags with cmd.
func (f *Flags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.Platforms, "platform", "p", nil,
		"platform: a Transform file, a directory of them, or a module (./dir, oci://HOST/REPO:TAG, example.com/shop@v1, git::URL, embedded:NAME), or REV:PATH for one in a git revision; can be repeated")
	f.ModuleFlags.AddFlags(cmd)
	command.Must(cmd.RegisterFlagCompletionFunc("platform", CompletePlatforms))
}

// AddFlags registers the flags with cmd and sets Modules.
func (f *ModuleFlags) AddFlags(cmd *cobra.Command) {
	f.PinFlags.AddFlags(cmd)
	f.RegistryFlags.AddFlags(cmd)
	f.RegistryFlags.pins = f.Pins
	f.LimitFlags.AddFlags(cmd)
	f.Modules = &modules.Opener{Options: f.sources(f.Pins), InTree: f.sourcesIn()}
}

// sources returns the ways to modules that are not on disk, as the pins allow. It calls
// pins when a module is fetched.
func (f *ModuleFlags) sources(pins func() (*pin.Pins, error)) modules.Options {
	rules := guard(pins, &f.SettingsDir)
	return modules.Options{
		Artifacts: func() (oci.Artifacts, error) {
			client, err := f.Client()
			if err != nil {
				return nil, err
			}
			p, err := pins()
			if err != nil {
				return nil, err
			}
			return guarded(client, rules, p.Roots(client))
		},
		Git: func() (git.Options, error) {
			p, err := pins()
			if err != nil {
				return git.Options{}, err
			}
			o := p.Git()
			o.Progress = f.progress()
			return o, nil
		},
		Published: f.published(pins, rules),
		Allowed: func(ref, host, path string) error {
			g, err := rules()
			if err != nil {
				return err
			}
			return g.Location(ref, trust.Location(host, path))
		},
	}
}

// sourcesIn returns a function for the sources of references in the files of a git
// revision. It reads the lock of each revision once.
func (f *ModuleFlags) sourcesIn() func(*modules.Tree) (modules.Options, error) {
	var mu sync.Mutex
	known := map[*modules.Tree]modules.Options{}
	return func(tree *modules.Tree) (modules.Options, error) {
		mu.Lock()
		defer mu.Unlock()
		if o, ok := known[tree]; ok {
			return o, nil
		}
		pins, err := f.pinsIn(tree)
		if err != nil {
			return modules.Options{}, err
		}
		known[tree] = f.sources(func() (*pin.Pins, error) { return pins, nil })
		return known[tree], nil
	}
}

// AddFlags registers the flags with cmd.
func (f *LimitFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.DurationVar(&f.timeout, "eval-timeout", 10*time.Second, "time limit for evaluating one instance or module; 0 means no limit")
	fl.IntVar(&f.memory, "eval-memory", 1024, "memory limit of the process during evaluations, in MiB; 0 means no limit")
}

// Limits returns the limits in the form that package render takes: the memory in
// bytes instead of MiB.
func (f *LimitFlags) Limits() render.Limits {
	return render.Limits{Timeout: f.timeout, Memory: uint64(max(f.memory, 0)) << 20}
}

// CompletePlatforms completes the value of -p with embedded modules, files and
// directories.
func CompletePlatforms(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, name := range modules.Embedded() {
		names = append(names, "embedded:"+name)
	}
	return names, cobra.ShellCompDirectiveDefault
}

// Prefetch opens the modules that args refer to, at the same time, so that downloads don't
// count towards the limits of evaluations. Relative paths start at the working directory.
func (f *ModuleFlags) Prefetch(ctx context.Context, args []string) error {
	_, err := each(args, func(arg string) (*modules.Files, error) {
		ref, at, err := locate(ctx, arg)
		if err != nil {
			return nil, nil // loading the module reports it
		}
		files, err := f.Modules.Open(ctx, ref, at)
		return files, transform.Refused(unlessNew(err))
	})
	return err
}

// OpenModules opens the modules of the platforms that -p names and of their policies,
// and the given policies, without evaluating them.
func (f *Flags) OpenModules(ctx context.Context, policies []string) error {
	for _, arg := range f.Platforms {
		ts, err := transforms(ctx, f.Modules, arg)
		if err != nil {
			return err
		}
		if _, err := openAll(ctx, ts); err != nil {
			return err
		}
	}
	return f.Prefetch(ctx, policies)
}

// openAll opens the modules of Transforms and their policies, in the same order, without
// those that [Flags.Before] has no earlier version of.
func openAll(ctx context.Context, all []definition) ([]*opened, error) {
	sources, err := each(all, func(t definition) (*opened, error) { return t.open(ctx) })
	return slices.DeleteFunc(sources, func(o *opened) bool { return o == nil }), err
}

// LoadPlatforms loads the platforms that -p names, in parallel, and returns them
// in the order of -p. Its errors are a problem.List if a Transform or a module is
// wrong, a *render.LimitError if an evaluation exceeded a limit, and I/O errors
// otherwise. Embedded modules that -p doesn't name are not loaded here but when
// an instance needs one.
func (f *Flags) LoadPlatforms(ctx context.Context) (*Catalog, error) {
	var all []definition
	for i, arg := range f.Platforms {
		if slices.Contains(f.Platforms[:i], arg) {
			continue // during completion, cobra parses the flags twice
		}
		ts, err := transforms(ctx, f.Modules, arg)
		if err != nil {
			if !f.tolerates(ctx, arg, err) {
				return nil, err
			}
			continue
		}
		all = append(all, ts...)
	}
	platforms, err := f.load(ctx, all)
	if err != nil && f.Failed != nil {
		platforms, err = f.loadSome(ctx, all)
	}
	if err != nil {
		return nil, err
	}
	c := &Catalog{modules: f.Modules}
	for _, p := range platforms {
		if err := c.add(p); err != nil && !f.tolerates(ctx, p.From, err) {
			return nil, err
		}
	}
	return c, nil
}

// load loads all platforms in parallel.
func (f *Flags) load(ctx context.Context, all []definition) ([]*render.Platform, error) {
	sources, err := openAll(ctx, all)
	if err != nil {
		return nil, err
	}
	return render.Map(ctx, f.Limits(), sources,
		func(o *opened) render.Subject { return o.Subject() }, (*opened).Load)
}

// loadSome loads one platform after the other, and reports those that fail.
func (f *Flags) loadSome(ctx context.Context, all []definition) ([]*render.Platform, error) {
	var platforms []*render.Platform
	for _, d := range all {
		loaded, err := f.load(ctx, []definition{d})
		if err != nil && !f.tolerates(ctx, cmp.Or(d.name, d.from), err) {
			return nil, err
		}
		platforms = append(platforms, loaded...)
	}
	return platforms, nil
}

// tolerates reports an error of a platform to Failed. It returns false if there is no such
// function, or if the command was interrupted.
func (f *Flags) tolerates(ctx context.Context, name string, err error) bool {
	if f.Failed == nil || ctx.Err() != nil {
		return false
	}
	f.Failed(name, err)
	return true
}
