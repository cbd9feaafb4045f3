package lock

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"cuelang.org/go/mod/module"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

var (
	commitPattern  = lazyregexp.New(`^[0-9a-f]{40}$`)
	digestPattern  = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	contentPattern = lazyregexp.New(`^h1:[A-Za-z0-9+/]{43}=$`)
	// conflictPattern matches the lines that git adds where it can't merge.
	conflictPattern = lazyregexp.New(`(?m)^(<<<<<<<|=======|>>>>>>>|\|\|\|\|\|\|\|)( .*)?\r?$`)
)

// rewrite is the hint for a file that must be made again.
const rewrite = "write it again with 'pequod module lock'"

// Read parses a lock. name is the name of the file in messages. Its errors are a
// [problem.List].
func Read(name string, data []byte) (*File, error) {
	if at := conflictPattern().FindIndex(data); at != nil {
		line := 1 + bytes.Count(data[:at[0]], []byte("\n"))
		return nil, problem.List{{
			Position: problem.Position{File: name, Line: line, Column: 1}, Rule: problem.RuleLock,
			Message: "a merge conflict", Hint: "take one side and " + rewrite,
		}}
	}
	docs, err := yamlfile.Parse(name, data)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, problem.List{{
			Position: problem.Position{File: name, Line: 1, Column: 1}, Rule: problem.RuleLock,
			Message: fmt.Sprintf("%d documents, not 1", len(docs)), Hint: rewrite,
		}}
	}
	// The version decides which fields there are, so it is read first.
	doc := docs[0]
	if v := doc.Text("version"); v != fmt.Sprint(format) {
		message, hint := fmt.Sprintf("%q is a version of the format that this pequod does not know", v), "use a newer pequod, or "+rewrite
		if v == "" {
			message, hint = "required field is missing", rewrite
		}
		return nil, problem.List{{Position: doc.At("version"), Path: "version", Rule: problem.RuleLock, Message: message, Hint: hint}}
	}
	var content struct {
		Version int      `json:"version"`
		Modules []Module `json:"modules"`
	}
	if err := doc.Decode(&content); err != nil {
		return nil, err
	}
	if ps := check(doc, content.Modules); len(ps) > 0 {
		return nil, ps
	}
	return &File{content.Modules}, nil
}

// check returns the problems of the entries.
func check(doc yamlfile.Document, modules []Module) problem.List {
	var ps problem.List
	seen := map[string]problem.Position{}
	for i, m := range modules {
		entry := "modules" + fieldpath.Index(i)
		wrong := func(field, format string, args ...any) {
			path := fieldpath.Join(entry, field)
			ps = append(ps, problem.Problem{
				Position: doc.At(path), Path: path, Rule: problem.RuleLock, Message: fmt.Sprintf(format, args...), Hint: rewrite,
			})
		}
		type field struct {
			name, value, form string
			ok                bool
		}
		required := []field{
			{"path", m.Path, "the path of a module with its major version", module.CheckPath(m.Path) == nil},
			{"digest", m.Digest, "sha256: and 64 hex digits", digestPattern().MatchString(m.Digest)},
		}
		if m.Commit != "" || strings.HasPrefix(m.Ref, "git::") {
			required = []field{
				{"commit", m.Commit, "the full name of a commit, 40 hex digits", commitPattern().MatchString(m.Commit)},
				{"ref", m.Ref, "a reference to a git repository", strings.HasPrefix(m.Ref, "git::")},
			}
			if m.Path != "" || m.Digest != "" {
				wrong("commit", "a git repository has neither path nor digest")
			}
		}
		for _, f := range append(required, field{"content", m.Content, "h1: and a hash in base64", contentPattern().MatchString(m.Content)}) {
			switch {
			case f.value == "":
				wrong(f.name, "required field is missing")
			case !f.ok:
				wrong(f.name, "%q is not %s", f.value, f.form)
			}
		}
		if _, err := module.NewVersion(m.Path, m.Version); m.Commit == "" && m.Version != "" && module.CheckPath(m.Path) == nil && err != nil {
			wrong("version", "%q is not a version of %s", m.Version, m.Path)
		}
		if m.Ref == "" && m.Version == "" {
			wrong("version", "required field is missing")
		}
		for _, f := range []field{{name: "ref", value: m.Ref}, {name: "version", value: m.Version}} {
			if strings.ContainsFunc(f.value, func(r rune) bool { return !unicode.IsPrint(r) }) {
				wrong(f.name, "%q has characters that can't be printed", f.value)
			}
		}
		if strings.ContainsFunc(m.Signer, func(r rune) bool { return !unicode.IsPrint(r) }) {
			wrong("signer", "%q has characters that can't be printed", m.Signer)
		}
		at := doc.At(entry)
		if first, ok := seen[m.key()]; ok {
			ps = append(ps, problem.Problem{
				Position: at, Path: entry, Rule: problem.RuleLock, Message: m.Name() + " is listed twice", Hint: rewrite, Related: first,
			})
		}
		seen[m.key()] = at
	}
	return ps
}
