package kinds

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/crdgen/jsonschema"
	"github.com/pequod-io/pequod/crdgen/openapi"
	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// modeline is a comment that yaml-language-server takes for the schema of a document.
var modeline = lazyregexp.New(`^#\s+yaml-language-server\s*:.*\$schema\s*[=:]`)

// planModelines returns the changes of the files of --modeline. A file without instances of
// the kinds stays as it is.
func (o *schemaOptions) planModelines(ctx context.Context, kinds []openapi.Kind) ([]change, error) {
	var changes []change
	for _, name := range o.modelines {
		paths := []string{name}
		info, err := os.Stat(name)
		if err != nil {
			return nil, command.FileError(err)
		}
		if info.IsDir() {
			if paths, err = files.FindYAML(name, true); err != nil {
				return nil, err
			}
		}
		for _, file := range slices.DeleteFunc(paths, files.IsToolConfig) {
			data, err := files.ReadFile(ctx, file)
			if err != nil {
				return nil, err
			}
			schema, err := o.schemaOf(kinds, filepath.Dir(file))
			if err != nil {
				return nil, err
			}
			edited, err := withModelines(filepath.ToSlash(file), data, schema)
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(edited, data) {
				changes = append(changes, change{filepath.ToSlash(file), "lacks the comment that names its schema", edited})
			}
		}
	}
	return changes, nil
}

// schemaOf returns a function that returns the schema of a kind as a path relative to dir,
// or "" for an unknown kind.
func (o *schemaOptions) schemaOf(kinds []openapi.Kind, dir string) (func(apiVersion, kind string) string, error) {
	from, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	schemas, err := filepath.Abs(o.outputDir)
	if err != nil {
		return nil, err
	}
	up, err := filepath.Rel(from, schemas)
	return func(apiVersion, kind string) string {
		for _, k := range kinds {
			if k.APIVersion() == apiVersion && k.Kind == kind {
				return filepath.ToSlash(filepath.Join(up, filepath.FromSlash(jsonschema.Layout(o.layout).File(k))))
			}
		}
		return ""
	}, err
}

// withModelines returns a file in which each document whose kind has a schema has the
// modeline of that schema, since yaml-language-server applies a modeline to its own document
// only. All other lines stay. JSON can't have comments and stays as it is.
func withModelines(name string, data []byte, schema func(apiVersion, kind string) string) ([]byte, error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] == '{' {
		return data, nil
	}
	var out []byte
	var document [][]byte
	flush := func() error {
		text := bytes.Join(document, nil)
		at := ""
		for doc, problems := range yamlfile.Documents(name, text) {
			if len(problems) > 0 {
				return problems
			}
			at = schema(doc.Text("apiVersion"), doc.Text("kind"))
		}
		if at != "" {
			document = marked(document, at)
		}
		out = append(out, bytes.Join(document, nil)...)
		return nil
	}
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(line, []byte("---")) {
			if err := flush(); err != nil {
				return nil, err
			}
			out = append(out, line...)
			document = nil
			continue
		}
		document = append(document, line)
	}
	err := flush()
	return out, err
}

// marked returns the lines of a document with a modeline: in place of the first one there
// is, or at the top.
func marked(lines [][]byte, schema string) [][]byte {
	end := "\n"
	if bytes.HasSuffix(lines[0], []byte("\r\n")) {
		end = "\r\n"
	}
	line := []byte("# yaml-language-server: $schema=" + schema + end)
	for i, l := range lines {
		if modeline().Match(l) {
			lines[i] = line
			return lines
		}
	}
	return slices.Insert(lines, 0, line)
}
