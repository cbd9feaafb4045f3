package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/inject/embed"

	"github.com/pequod-io/pequod/internal/cuemod"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// Source locates the files of a module.
type Source struct {
	// FS is a file system whose root is the root of the module.
	FS fs.FS
	// Dir is the directory of the package in FS, slash-separated and relative.
	// "." or "" is the root.
	Dir string
	// Show returns the name by which the user knows a file of FS. If it is nil,
	// files have their path in FS after a slash.
	Show func(file string) string
	// Place returns the lines of a YAML file that a file consists of, by the name that Show
	// returns. Positions are then those of the YAML file. It may be nil.
	Place func(shown string) (yamlfile.Block, bool)
	// Ref is the user's name for the module. It stands in for positions that
	// are not known.
	Ref string
	// Version is the module's version, or "".
	Version string
	// Digest is the digest that the module must have; see [Module.Digest]. If it is
	// "", every digest is accepted.
	Digest string

	// Modules are the other modules whose packages the module imports, directly or not.
	// If it is nil, there are none.
	Modules *cuemod.Resolved
}

// DigestError reports a module that does not have the digest of its [Source]. It
// was parsed, but not evaluated.
type DigestError struct{ Ref, Want, Got string }

func (e *DigestError) Error() string {
	return fmt.Sprintf("module %s has the digest %s, not %s", e.Ref, e.Got, e.Want)
}

// Load parses a module, resolves its imports from its file system and its dependencies
// alone, and evaluates it once. Its errors are a [DigestError] or a [problem.List]. The steps:
//
// 1. Parse the package; exactly one must be in the directory.
//
// 2. Refuse imports that fail, and packages that are not hermetic. Read the files that
// packages embed.
//
// 3. Compute the digest over the bytes that were parsed, and compare it with that
// of the source.
//
// 4. Evaluate the module, and validate its top and its definitions.
func Load(src Source) (*Module, error) {
	im := newImporter(src, 0)
	insts := im.instances(src.Dir)
	if len(insts) != 1 {
		return nil, problem.List{{
			Position: problem.Position{File: src.Ref}, Rule: problem.RuleModule,
			Message: fmt.Sprintf("names %d packages; one is expected", len(insts)),
		}}
	}
	inst := insts[0]
	if err := errors.Join(untyped(inst.Err), untyped(inst.ResolutionErr)); err != nil {
		return nil, loadProblems(src, err)
	}
	// An import can be broken without an error of the package that imports it.
	for _, i := range append(inst.Dependencies(), inst) {
		if i.Err != nil {
			return nil, loadProblems(src, i.Err)
		}
		if err := checkHermetic(i); err != nil {
			return nil, err
		}
		if err := im.embed(i); err != nil {
			return nil, err
		}
	}
	for _, root := range im.roots {
		root.read.loaded = true
	}
	files := im.filesOf(inst)
	if err := checkUTF8(files); err != nil {
		return nil, err
	}
	m := &Module{Name: inst.PkgName, Digest: digestOf(files), Version: src.Version, Ref: src.Ref, inst: inst, mayHaveRules: mayHaveRules(files)}
	if src.Digest != "" && src.Digest != m.Digest {
		return nil, &DigestError{Ref: src.Ref, Want: src.Digest, Got: m.Digest}
	}
	if mod, _, _ := strings.Cut(inst.Module, "@"); mod != "" {
		m.Name = path.Join(mod, src.Dir)
	}
	// Evaluating now finds the errors of the module itself, which would otherwise
	// be reported for every instance.
	b := m.build()
	if err := b.root.Validate(); err != nil {
		return nil, cueerror.ProblemsIn(src.Ref, err)
	}
	for _, name := range []string{"#Input", "#Render", "#Policy"} {
		// Validate, not Err: a definition may be incomplete until it has its
		// input.
		if err := b.root.LookupPath(cue.ParsePath(name)).Validate(); err != nil && b.has(name[1:]) {
			return nil, cueerror.ProblemsIn(src.Ref, err)
		}
	}
	m.giveBack(b)
	return m, nil
}

// Files returns the parsed files of a module and its imports without evaluating
// them. It skips files that can't be read or are too long to search for
// recursion.
func (src Source) Files() []*ast.File {
	var files []*ast.File
	for _, inst := range newImporter(src, maxSearchedFile).instances(src.Dir) {
		files = append(files, filesOf(inst)...)
	}
	return files
}

// loadProblems returns one problem for each load error. Such errors are about
// files and imports, so CUE's paths mean nothing to the user.
func loadProblems(src Source, err error) problem.List {
	var ps problem.List
	for _, e := range cueerror.List(err) {
		for _, p := range cueerror.ProblemsIn(src.Ref, e) {
			p.Path = ""
			// CUE repeats this for every package on the way to the mistake.
			const failed = "import failed: "
			for strings.HasPrefix(p.Message, failed+failed) {
				p.Message = strings.TrimPrefix(p.Message, failed)
			}
			// The first position is that of the import, and the last one of the mistake.
			if at := cueerrors.Positions(e); strings.HasPrefix(p.Message, failed) {
				if inner := cuesyntax.Position(at[len(at)-1]); inner.File != p.Position.File {
					p.Message += fmt.Sprintf(" (%s)", inner)
				}
			}
			ps = append(ps, p)
		}
	}
	return ps.Sorted()
}

// untyped keeps a nil errors.Error of CUE from becoming a non-nil error.
func untyped(err cueerrors.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// checkHermetic refuses packages that could run commands or programs of other
// languages.
func checkHermetic(inst *build.Instance) error {
	refuse := func(n ast.Node, message string) error {
		return problem.List{{Position: cuesyntax.Position(n.Pos()), Rule: problem.RuleModule, Message: message}}
	}
	for _, f := range inst.Files {
		for imp := range f.ImportSpecs() {
			if p := strings.Trim(imp.Path.Value, `"`); p == "tool" || strings.HasPrefix(p, "tool/") {
				return refuse(imp, "imports "+p+": modules run no commands")
			}
		}
		for _, d := range f.Decls {
			if kind, ok := externKind(d); ok && kind != embed.EmbedKind {
				return refuse(d, "@extern("+kind+") is not supported; @extern(embed) is")
			}
		}
	}
	return nil
}

// mayHaveRules reports whether files may have rules in CEL, in attributes of fields. Modules
// without any are spared the cost of checking them.
func mayHaveRules(files []moduleFile) bool {
	return slices.ContainsFunc(files, func(f moduleFile) bool {
		return bytes.Contains(f.data, []byte("@k8s(")) && bytes.Contains(f.data, []byte("rule"))
	})
}
