package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/render/kinds"
)

// schemaFlags name the definitions of custom kinds.
type schemaFlags struct {
	crds []string
}

func (f *schemaFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.crds, "crd", nil,
		"CustomResourceDefinitions of kinds that aren't Kubernetes' own: a file, or a directory; repeatable")
	must(cmd.RegisterFlagCompletionFunc("crd", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}))
}

// catalog reads the definitions.
func (f *schemaFlags) catalog() (*kinds.Catalog, error) {
	c := &kinds.Catalog{}
	err := f.each(func(content []byte) error {
		custom, err := kinds.ParseDefinition(content)
		if err == nil {
			err = c.Add(custom)
		}
		return err
	})
	return c, err
}

// each visits the definitions. What visit finds wrong is said with the place of
// the definition.
func (f *schemaFlags) each(visit func(content []byte) error) error {
	for i, name := range f.crds {
		if slices.Contains(f.crds[:i], name) {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return ioError(err)
		}
		files := []string{name}
		if info.IsDir() {
			if files, err = yamlFiles(name); err != nil {
				return err
			}
		}
		found := 0
		for _, file := range files {
			n, err := visitDefinitions(file, visit)
			if err != nil {
				return err
			}
			found += n
		}
		if found == 0 {
			return fmt.Errorf("%s: no CustomResourceDefinition in it", name)
		}
	}
	return nil
}

// yamlFiles lists the YAML and JSON files below a directory.
func yamlFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && isYAML(p) {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		return nil, ioError(err)
	}
	return files, nil
}

// visitDefinitions visits the definitions of a file, and gives how many there
// are. Other documents are left alone.
func visitDefinitions(file string, visit func(content []byte) error) (int, error) {
	data, err := readFile(file)
	if err != nil {
		return 0, err
	}
	docs, err := yamlfile.Parse(filepath.ToSlash(file), data)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, doc := range docs {
		if !kinds.IsDefinition(doc.Text("apiVersion"), doc.Text("kind")) {
			continue
		}
		var content json.RawMessage
		if err := doc.Decode(&content); err != nil {
			return 0, err
		}
		if err := visit(content); err != nil {
			return 0, doc.Problem(err)
		}
		n++
	}
	return n, nil
}

// checkNode gives the function that checks every rendered node.
func checkNode(c *kinds.Catalog) func(v1alpha1.Node, map[string]any) problem.List {
	return func(n v1alpha1.Node, object map[string]any) problem.List {
		var ps problem.List
		add := func(base string, found []kinds.Problem) {
			for _, p := range found {
				ps = append(ps, schemaProblem(base, p))
			}
		}
		s := kinds.Subject{}
		if n.ExternalRef != nil {
			s.APIVersion, s.Kind = n.ExternalRef.APIVersion, n.ExternalRef.Kind
			if _, p := c.Lookup(s.APIVersion, s.Kind); p != nil {
				add("externalRef", []kinds.Problem{*p})
			}
		} else {
			s = subjectOf(object)
			add("resource", c.Check(object))
		}
		add("", c.Ready(s, n.ReadyWhen))
		return ps
	}
}

// subjectOf gives what a node's readiness is about.
func subjectOf(object map[string]any) kinds.Subject {
	var s kinds.Subject
	s.APIVersion, _ = object["apiVersion"].(string)
	s.Kind, _ = object["kind"].(string)
	spec, _ := object["spec"].(map[string]any)
	typ, given := spec["type"]
	if s.ServiceType, _ = typ.(string); !given {
		s.ServiceType = "ClusterIP"
	}
	return s
}

// schemaProblem is a problem of an object below a place in its node.
func schemaProblem(base string, p kinds.Problem) problem.Problem {
	q := problem.Problem{
		Path: base, Message: p.Message, Hint: p.Hint, Rule: problem.RuleSchema,
		Severity: map[kinds.Level]problem.Severity{
			kinds.Error: problem.Error, kinds.Warning: problem.Warning, kinds.Note: problem.Note,
		}[p.Level],
	}
	switch path := p.Path.String(); {
	case path == "":
	case base == "" || path[0] == '[':
		q.Path += path
	default:
		q.Path += "." + path
	}
	return q
}

// notesOnce keeps the first of the notes that say the same, such as that a kind
// isn't known, of nodes and instances that have it.
func notesOnce(ps problem.List) problem.List {
	said := map[string]bool{}
	return slices.DeleteFunc(ps, func(p problem.Problem) bool {
		if p.Rule != problem.RuleSchema || p.Severity != problem.Note {
			return false
		}
		again := said[p.Message]
		said[p.Message] = true
		return again
	})
}
