package render

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/inject/embed"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// maxEmbedded limits the files that the packages of a module embed. A pattern that matches a
// directory of test data by mistake is an error rather than a slow module.
const maxEmbedded = 1000

// NewContext returns a CUE context that evaluates @embed attributes. It reads their
// files from the recorder of the module, which serves what [importer.embed] read.
func NewContext() *cue.Context {
	return cuecontext.New(cuecontext.WithInjection(embed.New()))
}

// externKind returns the kind of an attribute @extern(KIND), or false for all other
// declarations.
func externKind(d ast.Decl) (kind string, ok bool) {
	a, ok := d.(*ast.Attribute)
	if !ok || a.Name() != "extern" {
		return "", false
	}
	_, body := a.Split()
	return strings.Trim(strings.TrimSpace(body), `"`), true
}

// embed reads the files that the @embed attributes of a package name. Evaluations then
// use these bytes, and the digest of the module covers them. Evaluation reports
// attributes that are wrong, so they are skipped here.
func (im *importer) embed(inst *build.Instance) error {
	read := im.roots[im.modules[inst]].read
	for _, f := range inst.Files {
		if !slices.ContainsFunc(f.Decls, func(d ast.Decl) bool { k, _ := externKind(d); return k == embed.EmbedKind }) {
			continue
		}
		embeds, _ := embed.EmbeddedPaths(f.Pos().File().FSLoc().Path, f)
		for _, e := range embeds {
			names, err := e.FindAll(read)
			if len(read.embedded)+len(names) > maxEmbedded {
				return embedProblem(e.Attribute.Pos, fmt.Sprintf("embeds more than %d files", maxEmbedded))
			}
			for i := 0; i < len(names) && err == nil; i++ {
				err = read.embed(names[i])
			}
			var failed *fs.PathError
			if errors.As(err, &failed) {
				return embedProblem(e.Attribute.Pos, fmt.Sprintf("embedding %s: %v", failed.Path, failed.Err))
			}
			if err != nil {
				return cueerror.Problems(err)
			}
		}
	}
	return nil
}

// embedProblem returns a problem of an attribute.
func embedProblem(pos token.Pos, message string) error {
	return problem.List{{Position: cuesyntax.Position(pos), Rule: problem.RuleModule, Message: message}}
}

// embed reads and records a file for @embed. Directories, which a pattern may match,
// are skipped, as CUE does.
func (r *recorder) embed(name string) error {
	info, err := fs.Stat(r.FS, name)
	if err != nil || info.IsDir() {
		return err
	}
	if _, err := r.ReadFile(name); err != nil {
		return err
	}
	if r.embedded == nil {
		r.embedded = map[string]fs.FileInfo{}
	}
	r.embedded[name] = info
	return nil
}
