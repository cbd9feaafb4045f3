package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cuelang.org/go/cue/ast"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

// platformFlags are those of every command that evaluates modules.
type platformFlags struct {
	platforms []string
	limitFlags
}

// limitFlags bound evaluations.
type limitFlags struct {
	timeout time.Duration
	memory  int
	// modules opens the modules of the command, each once.
	modules *modules.Opener
}

func (f *platformFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.platforms, "platform", "p", nil,
		"platform: a Transform file, a directory of them, or a module (./dir, embedded:NAME); repeatable")
	f.limitFlags.add(cmd)
	must(cmd.RegisterFlagCompletionFunc("platform", completePlatforms))
}

func (f *limitFlags) add(cmd *cobra.Command) {
	f.modules = &modules.Opener{}
	fl := cmd.Flags()
	fl.DurationVar(&f.timeout, "eval-timeout", 10*time.Second, "end the evaluation of one instance or module after this time; 0 means never")
	fl.IntVar(&f.memory, "eval-memory", 1024, "end an evaluation that brings the process's memory over this many MiB; 0 means never")
}

func (f *limitFlags) limits() render.Limits {
	return render.Limits{Timeout: f.timeout, Memory: uint64(max(f.memory, 0)) << 20}
}

// must is for registrations that fail only if the program is wrong.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// completePlatforms offers the embedded modules, and files and directories.
func completePlatforms(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, name := range modules.Embedded() {
		names = append(names, "embedded:"+name)
	}
	return names, cobra.ShellCompDirectiveDefault
}

// catalog finds the platform of an instance: among those given, then among the
// embedded ones, which are loaded when they are wanted.
type catalog struct {
	given   []*render.Platform
	modules *modules.Opener

	mu       sync.Mutex
	embedded map[string]*render.Platform
}

// open loads the platforms that the flags name.
func (f *platformFlags) open(ctx context.Context) (*catalog, error) {
	var all []transform
	for i, arg := range f.platforms {
		if slices.Contains(f.platforms[:i], arg) {
			continue // completion gives every flag twice
		}
		ts, err := transforms(f.modules, arg)
		if err != nil {
			return nil, err
		}
		all = append(all, ts...)
	}
	platforms, err := render.Map(ctx, f.limits(), all,
		func(t transform) render.Subject { return t.subject(ctx) },
		func(t transform) (*render.Platform, error) { return t.load(ctx) })
	if err != nil {
		return nil, err
	}
	c := &catalog{modules: f.modules}
	for _, p := range platforms {
		if err := c.add(p); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// guard runs one function under the limits of evaluation.
func guard[T any](ctx context.Context, limits render.Limits, subject render.Subject, run func() (T, error)) (T, error) {
	all, err := render.Map(ctx, limits, []render.Subject{subject}, func(s render.Subject) render.Subject { return s }, func(render.Subject) (T, error) { return run() })
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

func (c *catalog) add(p *render.Platform) error {
	for _, other := range c.given {
		if other.GroupKind() == p.GroupKind() {
			return problem.List{{
				Position: problem.Position{File: p.From}, Rule: problem.RulePlatform,
				Message: fmt.Sprintf("two platforms for kind %s: the other is %s", p.GroupKind(), other.From),
			}}
		}
	}
	c.given = append(c.given, p)
	return nil
}

// find gives the platform of an instance.
func (c *catalog) find(ctx context.Context, in *render.Instance) (*render.Platform, error) {
	p, err := c.lookup(ctx, in.Group(), in.Kind)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, problem.List{{
			Position: in.Pos(), Rule: problem.RulePlatform, Instance: in.String(),
			Message: fmt.Sprintf("no platform for %s %s", in.APIVersion, in.Kind),
			Hint:    "there are: " + strings.Join(c.kinds(ctx), ", "),
		}}
	}
	if !p.Serves(in.Version()) {
		return nil, problem.List{{
			Position: in.PosOf("apiVersion"), Path: "apiVersion", Rule: problem.RulePlatform, Instance: in.String(),
			Message: fmt.Sprintf("version %s is not served by %s", in.Version(), p.From),
			Hint:    "served: " + strings.Join(p.Served(), ", "),
		}}
	}
	return p, nil
}

func (c *catalog) lookup(ctx context.Context, group, kind string) (*render.Platform, error) {
	for _, p := range c.given {
		if p.Group == group && p.Kind == kind {
			return p, nil
		}
	}
	name := strings.ToLower(kind)
	if group != v1alpha1.DefaultGroup || !slices.Contains(modules.Embedded(), name) {
		return nil, nil
	}
	p, err := c.embeddedPlatform(ctx, name)
	if err != nil || p.Group != group || p.Kind != kind {
		return nil, err
	}
	return p, nil
}

func (c *catalog) embeddedPlatform(ctx context.Context, name string) (*render.Platform, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.embedded[name]; p != nil {
		return p, nil
	}
	p, err := moduleTransform(c.modules, v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}).load(ctx)
	if err != nil {
		return nil, err
	}
	if c.embedded == nil {
		c.embedded = map[string]*render.Platform{}
	}
	c.embedded[name] = p
	return p, nil
}

// kinds lists what there is, for errors and completion.
func (c *catalog) kinds(ctx context.Context) []string {
	var kinds []string
	for _, p := range c.given {
		kinds = append(kinds, p.GroupKind())
	}
	for _, name := range modules.Embedded() {
		if p, err := c.embeddedPlatform(ctx, name); err == nil && !slices.Contains(kinds, p.GroupKind()) {
			kinds = append(kinds, p.GroupKind())
		}
	}
	slices.Sort(kinds)
	return kinds
}

// transform is a Transform and where it was read.
type transform struct {
	name string
	spec v1alpha1.TransformSpec
	// from is how messages call it, base the directory that paths in it start from.
	from, base string
	modules    *modules.Opener
}

// moduleTransform stands for a module that is given without a Transform.
func moduleTransform(opener *modules.Opener, ref v1alpha1.CueRef) transform {
	t := transform{modules: opener, spec: v1alpha1.TransformSpec{CueRef: ref}, from: ref.Ref}
	if ref.Type == v1alpha1.CueRefEmbedded {
		t.from = "embedded:" + ref.Ref
	}
	return t
}

// transforms reads what one --platform stands for.
func transforms(opener *modules.Opener, arg string) ([]transform, error) {
	ref, err := modules.ParseRef(arg)
	if err != nil {
		return nil, err
	}
	if ref.Type != v1alpha1.CueRefPath {
		return []transform{moduleTransform(opener, ref)}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, ioError(err)
	}
	if !info.IsDir() {
		return readTransforms(opener, arg)
	}
	entries, err := os.ReadDir(arg)
	if err != nil {
		return nil, ioError(err)
	}
	var all []transform
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".cue") {
			return []transform{moduleTransform(opener, ref)}, nil
		}
	}
	for _, e := range entries {
		if e.IsDir() || !isYAML(e.Name()) {
			continue
		}
		ts, err := readTransforms(opener, filepath.Join(arg, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, ts...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: neither a CUE module nor a directory of Transforms", arg)
	}
	return all, nil
}

func isYAML(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// readTransforms reads the Transforms of one file.
func readTransforms(opener *modules.Opener, file string) ([]transform, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	docs, err := yamlfile.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var all []transform
	for _, doc := range docs {
		var t v1alpha1.Transform
		if err := doc.Decode(&t); err != nil {
			return nil, err
		}
		if t.APIVersion != v1alpha1.GroupVersion.String() || t.Kind != "Transform" {
			return nil, doc.Problem(fmt.Errorf("a Transform (apiVersion %s) is expected, not %s %s",
				v1alpha1.GroupVersion, t.APIVersion, t.Kind))
		}
		if t.Name == "" {
			return nil, doc.Problem(fmt.Errorf("metadata.name: missing"))
		}
		all = append(all, transform{name: t.Name, spec: t.Spec, from: file, base: filepath.Dir(file), modules: opener})
	}
	return all, nil
}

// load opens and evaluates the module of a Transform, and its policies.
func (t transform) load(ctx context.Context) (*render.Platform, error) {
	m, name, err := loadModule(ctx, t.modules, t.spec.CueRef, t.base)
	if err != nil {
		return nil, err
	}
	if t.name != "" {
		name = t.name
	}
	p, err := render.NewPlatform(name, t.spec, m)
	if err != nil {
		return nil, err
	}
	p.From = t.from
	for _, ref := range t.spec.Policies {
		policy, err := loadPolicy(ctx, t.modules, ref, t.base)
		if err != nil {
			return nil, err
		}
		p.Policies = append(p.Policies, policy)
	}
	return p, nil
}

// subject is the Transform as the subject of an evaluation.
func (t transform) subject(ctx context.Context) render.Subject {
	return render.Subject{Name: t.from, Files: func() []*ast.File {
		files := moduleFiles(ctx, t.modules, t.spec.CueRef, t.base)
		for _, ref := range t.spec.Policies {
			files = append(files, moduleFiles(ctx, t.modules, ref, t.base)...)
		}
		return files
	}}
}

// loadModule opens and loads the module that ref refers to, and returns it with
// its default name. base is the directory that relative paths start from.
func loadModule(ctx context.Context, opener *modules.Opener, ref v1alpha1.CueRef, base string) (*render.Module, string, error) {
	files, err := opener.Open(ctx, ref, modules.Options{BaseDir: base})
	if err != nil {
		return nil, "", err
	}
	m, err := render.Load(sourceOf(files))
	return m, files.Name, err
}

// moduleFiles returns the parsed files of a module whose evaluation was stopped,
// for an explanation of the cause. It does not evaluate the module, and returns
// nil if the module cannot be opened.
func moduleFiles(ctx context.Context, opener *modules.Opener, ref v1alpha1.CueRef, base string) []*ast.File {
	files, err := opener.Open(ctx, ref, modules.Options{BaseDir: base})
	if err != nil {
		return nil // loading the module reports the error
	}
	return sourceOf(files).Files()
}

func sourceOf(f *modules.Files) render.Source {
	return render.Source{FS: f.FS, Dir: f.Dir, Show: f.Show, Ref: f.Ref, Version: f.Version}
}

// loadPolicy opens and loads a policy module.
func loadPolicy(ctx context.Context, opener *modules.Opener, ref v1alpha1.CueRef, base string) (*render.Policy, error) {
	m, _, err := loadModule(ctx, opener, ref, base)
	if err != nil {
		return nil, err
	}
	return render.NewPolicy(m)
}
