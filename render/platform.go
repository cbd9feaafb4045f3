package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/render/kinds"
)

// Platform is a module with the names of its kind and the settings of its graphs.
// It is not changed once instances are rendered, so that workers share it.
type Platform struct {
	v1alpha1.Names
	Module *Module
	// Policies are the policies of this platform alone.
	Policies []*Policy

	// From is the name of the platform in messages: the Transform's file or the
	// module's reference. The caller of NewPlatform sets it.
	From string

	// ServiceAccountName and DeletionPolicy are settings of every graph, from the
	// Transform. If they are empty, the graph does not set them either.
	ServiceAccountName string
	DeletionPolicy     v1alpha1.DeletionPolicy
	// Rollout has the settings of rollouts, from the Transform, or is nil. It has no
	// effect on graphs.
	Rollout *v1alpha1.Rollout

	// custom returns the kind as the CRD defines it. It is nil if the module has no rules
	// of its own.
	custom func() (*kinds.Custom, error)

	// versioned is true if the module has #Versions.
	versioned bool

	// allowLabels and allowAnnotations are true if #Render.input.metadata
	// allows the field.
	allowLabels, allowAnnotations bool
}

// platformDef is the module's #Platform, whose fields are all optional.
type platformDef struct {
	Group          string                   `json:"group"`
	Version        string                   `json:"version"`
	Kind           string                   `json:"kind"`
	Plural         string                   `json:"plural"`
	Singular       string                   `json:"singular"`
	ShortNames     []string                 `json:"shortNames"`
	Categories     []string                 `json:"categories"`
	Scope          v1alpha1.Scope           `json:"scope"`
	PrinterColumns []v1alpha1.PrinterColumn `json:"printerColumns"`
	Scale          *v1alpha1.Scale          `json:"scale"`
}

// platformFields are the fields that #Platform may have.
var platformFields = []string{
	"group", "version", "kind", "plural", "singular", "shortNames", "categories", "scope", "printerColumns", "scale",
}

// NewPlatform returns the platform of a Transform and its module. Names come from
// the Transform, else from #Platform, else from defaults; the default kind is
// made of name, the Transform's name. Its errors are a [problem.List].
//
// With #Versions the module decides which version is stored, and a Transform or
// #Platform may only repeat it. Without it there is one version, which is served
// and stored.
func NewPlatform(name string, t v1alpha1.TransformSpec, m *Module) (*Platform, error) {
	b := m.acquire()
	defer m.giveBack(b)
	versions, stored, err := b.versions()
	if err != nil {
		return nil, err
	}
	for _, def := range []string{"#Input", "#Render"} {
		if !b.has(def[1:]) && !(def == "#Input" && stored != "") {
			return nil, problem.List{m.missingDefinition(def, b.definitions())}
		}
	}
	def, err := b.platform()
	if err != nil {
		return nil, err
	}
	p := &Platform{Module: m, ServiceAccountName: t.ServiceAccountName, DeletionPolicy: t.GraphDeletionPolicy, Rollout: t.Rollout}
	n := &p.Names
	n.Group = cmp.Or(t.Group, def.Group, v1alpha1.DefaultGroup)
	n.Version = cmp.Or(t.Version, def.Version, v1alpha1.DefaultVersion)
	n.Versions = versions
	if p.versioned = stored != ""; p.versioned {
		if want := cmp.Or(t.Version, def.Version); want != "" && want != stored {
			return nil, problem.List{{Position: problem.Position{File: m.Ref}, Path: "version", Rule: problem.RulePlatform,
				Message: fmt.Sprintf("%s is not %s, the version that #Versions stores", want, stored)}}
		}
		n.Version = stored
	} else {
		n.Versions = []v1alpha1.KindVersion{{Name: n.Version, Served: true}}
	}
	n.Kind = cmp.Or(t.Kind, def.Kind, KindName(name))
	n.Singular = cmp.Or(def.Singular, strings.ToLower(n.Kind))
	n.Plural = cmp.Or(t.Plural, def.Plural, v1alpha1.DefaultPlural(n.Kind))
	n.Scope = cmp.Or(t.Scope, def.Scope, v1alpha1.ScopeNamespaced)
	// An empty list in the Transform removes the names of the module.
	n.ShortNames, n.Categories = t.ShortNames, t.Categories
	if n.ShortNames == nil {
		n.ShortNames = def.ShortNames
	}
	if n.Categories == nil {
		n.Categories = def.Categories
	}
	n.PrinterColumns = def.PrinterColumns
	n.Scale = def.Scale
	n.Transform = name
	if err := b.checkScale(p); err != nil {
		return nil, err
	}
	if err := checkNames(m, n); err != nil {
		return nil, err
	}
	// Every instance has metadata, so a module without a field for it could never
	// render one. Labels and annotations are optional; see Instance.data.
	input := b.root.LookupPath(cue.ParsePath("#Render.input"))
	if !input.Allows(cue.Str("metadata")) {
		return nil, problem.List{{
			Position: cuesyntax.Position(input.Pos()), Path: "#Render.input", Rule: problem.RuleModule,
			Message: "has no place for metadata", Hint: "add metadata: {name: string, namespace: string}",
		}}
	}
	meta := input.LookupPath(cue.MakePath(cue.Str("metadata")))
	p.allowLabels = meta.Allows(cue.Str("labels"))
	p.allowAnnotations = meta.Allows(cue.Str("annotations"))
	if m.mayHaveRules {
		p.custom = p.definition()
	}
	return p, nil
}

// definition returns the kind of the platform as its CRD defines it. The CRD is generated
// when the function is called first.
func (p *Platform) definition() func() (*kinds.Custom, error) {
	return sync.OnceValues(func() (*kinds.Custom, error) {
		inputs, status := p.Schemas()
		made, err := crdgen.Generate(inputs, status, p.Names)
		if cueErr := cueerrors.Error(nil); errors.As(err, &cueErr) {
			err = cueerror.ProblemsIn(p.From, err)
		}
		if err != nil {
			return nil, err
		}
		return kinds.NewCustom(made.CRD)
	})
}

// WithoutRules returns the platform without the module's own rules, for samples, which are
// made from the schema alone.
func (p *Platform) WithoutRules() *Platform {
	bare := *p
	bare.custom = nil
	return &bare
}

// ReadsLabels reports whether the module sees the labels of instances.
func (p *Platform) ReadsLabels() bool { return p.allowLabels }

// ReadsAnnotations reports whether the module sees the annotations of instances.
func (p *Platform) ReadsAnnotations() bool { return p.allowAnnotations }

// platform reads #Platform. A module without it has no names of its own. Its
// values must be concrete, since they are the same for every instance.
func (b *builtModule) platform() (platformDef, error) {
	var def platformDef
	v := b.root.LookupPath(cue.ParsePath("#Platform"))
	if !v.Exists() {
		return def, nil
	}
	it, err := v.Fields(cue.Optional(true))
	if err != nil {
		return def, cueerror.Problems(err)
	}
	var ps problem.List
	for it.Next() {
		if name := it.Selector().Unquoted(); !slices.Contains(platformFields, name) {
			ps = append(ps, problem.Problem{
				Position: cuesyntax.Position(it.Value().Pos()), Path: "#Platform." + name, Rule: problem.RuleUnknown,
				Message: "unknown field", Hint: source.Hint(name, platformFields),
			})
		}
	}
	if err := ps.Err(); err != nil {
		return def, err
	}
	if err := v.Validate(cue.Concrete(true)); err != nil {
		return def, cueerror.Problems(err)
	}
	if err := v.Decode(&def); err != nil {
		return def, cueerror.Problems(err)
	}
	return def, nil
}

// checkNames checks the names of a kind by the rules of Kubernetes.
func checkNames(m *Module, n *v1alpha1.Names) error {
	var ps problem.List
	check := func(what, value string, valid func(string) []string) {
		if msgs := valid(value); len(msgs) > 0 {
			ps = append(ps, problem.Problem{
				Position: problem.Position{File: m.Ref}, Path: what, Rule: problem.RulePlatform,
				Message: fmt.Sprintf("%q: %s", value, nameRule(msgs)),
			})
		}
	}
	check("group", n.Group, validation.IsDNS1123Subdomain)
	check("version", n.Version, validation.IsDNS1035Label)
	check("kind", strings.ToLower(n.Kind), validation.IsDNS1035Label)
	check("plural", n.Plural, validation.IsDNS1035Label)
	check("singular", n.Singular, validation.IsDNS1035Label)
	for _, s := range n.ShortNames {
		check("shortNames", s, validation.IsDNS1035Label)
	}
	for _, s := range n.Categories {
		check("categories", s, validation.IsDNS1035Label)
	}
	if n.Scope != v1alpha1.ScopeNamespaced && n.Scope != v1alpha1.ScopeCluster {
		ps = append(ps, problem.Problem{Position: problem.Position{File: m.Ref}, Path: "scope", Rule: problem.RulePlatform,
			Message: fmt.Sprintf("%q is neither Namespaced nor Cluster", n.Scope)})
	}
	return ps.Err()
}

// KindName turns a name such as web-service into a kind such as WebService, the
// default kind of a platform.
func KindName(name string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '.' || r == '_' }) {
		r, n := utf8.DecodeRuneInString(part)
		b.WriteRune(unicode.ToUpper(r))
		b.WriteString(part[n:])
	}
	return b.String()
}

// Subject describes the platform for the limits of evaluations.
func (p *Platform) Subject() Subject { return Subject{Name: p.From, Files: p.files} }

// files returns the files of the module and of its policies.
func (p *Platform) files() []*ast.File {
	files := p.Module.Files()
	for _, policy := range p.Policies {
		files = append(files, policy.Module.Files()...)
	}
	return files
}

// GroupKind returns KIND.GROUP, which an instance must match.
func (p *Platform) GroupKind() string { return p.Kind + "." + p.Group }

// Schemas returns the schema of each version's spec by version, and the module's
// #Status, which does not exist if the module has none. They are in a CUE context
// that the caller owns.
func (p *Platform) Schemas() (inputs map[string]cue.Value, status cue.Value) {
	root := p.Module.acquire().root // never given back
	inputs = map[string]cue.Value{}
	for _, v := range p.Versions {
		inputs[v.Name] = root.LookupPath(cue.ParsePath(string(p.Schema(v.Name))))
	}
	return inputs, root.LookupPath(cue.MakePath(cue.Def("Status")))
}

// Schema returns the path of the schema for the spec of a version.
func (p *Platform) Schema(version string) SchemaPath {
	if !p.versioned {
		return inputPath
	}
	return versionPath(version, "#Input")
}
