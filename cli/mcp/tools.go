package mcp

import (
	"context"
	"errors"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const instructions = `Pequod renders short instances (YAML) with platform modules (CUE) into ResourceGraphs of Kubernetes objects.
All tools only read files of the server's directory. Paths are relative to it.
Validate after each edit of an instance or a module, and correct every problem at its file and line; the hint has the likely correction.
Call explain before writing a field that you don't know. Call review when a change is complete, and tell the user about its dangers.
A platform is a directory or file of Transforms, a module such as ./shop, or embedded:NAME; without platforms, those of pequod.yaml and the embedded ones are used.`

// instances are the arguments of tools that render.
type instances struct {
	Files     []string `json:"files,omitempty" jsonschema:"files and directories with instances; without them, those of pequod.yaml"`
	Recursive bool     `json:"recursive,omitempty" jsonschema:"include subdirectories"`
	Platforms []string `json:"platforms,omitempty" jsonschema:"Transforms or modules that define the kinds"`
	Policies  []string `json:"policies,omitempty" jsonschema:"policy modules to check with"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"namespace of instances without one"`
}

// args returns the flags, and the values that may be paths.
func (in instances) args() (args, references []string) {
	args = append(append(repeated("filename", in.Files), repeated("platform", in.Platforms)...), repeated("policy", in.Policies)...)
	if in.Recursive {
		args = append(args, "--recursive")
	}
	if in.Namespace != "" {
		args = append(args, "--namespace="+in.Namespace)
	}
	return args, slices.Concat(in.Files, in.Platforms, in.Policies)
}

// repeated returns a flag with each of its values.
func repeated(flag string, values []string) []string {
	var args []string
	for _, v := range values {
		args = append(args, "--"+flag+"="+v)
	}
	return args
}

type renderInput struct {
	instances
	Format string `json:"format,omitempty" jsonschema:"graph (the default) for ResourceGraphs, or resources for plain manifests"`
}

type graphInput struct {
	instances
	Format string `json:"format,omitempty" jsonschema:"json (the default), tree or mermaid"`
}

type reviewInput struct {
	instances
	Base   string `json:"base,omitempty" jsonschema:"branch or commit whose merge base with HEAD is compared with the files; the default branch if it is left out"`
	Format string `json:"format,omitempty" jsonschema:"json (the default), text or markdown"`
}

type statusInput struct {
	Names         []string `json:"names,omitempty" jsonschema:"names of ResourceGraphs; without them, all of the namespace"`
	Namespace     string   `json:"namespace,omitempty" jsonschema:"namespace of the graphs"`
	AllNamespaces bool     `json:"allNamespaces,omitempty" jsonschema:"the graphs of all namespaces"`
}

type diffInput struct {
	Old       string   `json:"old,omitempty" jsonschema:"manifests before the change: a file, a directory, or REVISION:PATH of git"`
	New       string   `json:"new,omitempty" jsonschema:"manifests after the change"`
	Files     []string `json:"files,omitempty" jsonschema:"instead of old and new: instances to compare with the cluster, if the server allows it"`
	Platforms []string `json:"platforms,omitempty" jsonschema:"with files: Transforms or modules"`
}

type impactInput struct {
	Files     []string `json:"files" jsonschema:"files and directories with instances"`
	Recursive bool     `json:"recursive,omitempty" jsonschema:"include subdirectories"`
	Platforms []string `json:"platforms" jsonschema:"the new modules"`
	Against   []string `json:"against" jsonschema:"the old modules, such as main:modules/shop"`
}

type moduleInput struct {
	Module string `json:"module" jsonschema:"reference of a module, such as ./shop or embedded:webservice"`
}

type explainInput struct {
	Field      string   `json:"field" jsonschema:"kind and field, such as webservice or webservice.spec.port"`
	Platforms  []string `json:"platforms,omitempty" jsonschema:"Transforms or modules that define the kind"`
	APIVersion string   `json:"apiVersion,omitempty" jsonschema:"group and version instead of the preferred one"`
	Recursive  bool     `json:"recursive,omitempty" jsonschema:"only names and types of the fields at all depths"`
}

// addTools adds the tools to a server.
func (o *options) addTools(s *sdk.Server, r *runner) {
	add(s, r, "validate", "Check instances against the schemas of their platforms, and all policies. Returns every problem with file, line, field and hint.",
		func(in instances) (call, error) {
			args, references := in.args()
			return call{args: append([]string{"validate", "--output=json"}, args...), references: references, problems: true}, nil
		})
	add(s, r, "render", "Render instances to ResourceGraphs or to plain Kubernetes manifests.",
		func(in renderInput) (call, error) {
			args, references := in.args()
			return call{args: append([]string{"render", "--output=json", "--format=" + or(in.Format, "graph")}, args...), references: references, validate: args}, nil
		})
	add(s, r, "graph", "Show the nodes of the graphs of instances: their order, dependencies and readiness checks.",
		func(in graphInput) (call, error) {
			args, references := in.args()
			return call{args: append([]string{"graph", "--output=" + or(in.Format, "json")}, args...), references: references, validate: args}, nil
		})
	add(s, r, "diff", "Compare two sets of manifests field by field, with warnings about immutable fields and lost data. Secrets are masked.",
		func(in diffInput) (call, error) { return in.call(o.cluster) })
	add(s, r, "review", "Show what the working tree changes in the cluster since its git branch began: verdict, dangers, consequences such as restarts or lost data, and every changed field. Reads no cluster.",
		func(in reviewInput) (call, error) {
			args, references := in.args()
			c := call{references: references, validate: args, may: reach{revisions: true}}
			c.args = append([]string{"review", "--output=" + or(in.Format, "json")}, args...)
			if in.Base != "" {
				c.args = append(c.args, "--base="+in.Base)
			}
			return c, nil
		})
	add(s, r, "impact", "Show what a new version of modules changes for instances, and which instances it breaks.",
		func(in impactInput) (call, error) {
			args := append([]string{"diff", "--impact", "--output=json"}, repeated("filename", in.Files)...)
			args = append(append(args, repeated("platform", in.Platforms)...), repeated("against", in.Against)...)
			if in.Recursive {
				args = append(args, "--recursive")
			}
			return call{args: args, references: slices.Concat(in.Files, in.Platforms, in.Against), differs: true}, nil
		})
	add(s, r, "module_docs", "Show what a module offers: its kind and versions, its inputs with types and defaults, and its README.",
		func(in moduleInput) (call, error) {
			return call{args: []string{"module", "show", "--", in.Module}, references: []string{in.Module}}, nil
		})
	add(s, r, "explain", "Describe a kind or a field: type, description, default, bounds and the fields in it.",
		func(in explainInput) (call, error) {
			args := append([]string{"explain"}, repeated("platform", in.Platforms)...)
			if in.APIVersion != "" {
				args = append(args, "--api-version="+in.APIVersion)
			}
			if in.Recursive {
				args = append(args, "--recursive")
			} else {
				args = append(args, "--output=json")
			}
			return call{args: append(args, "--", in.Field), references: in.Platforms}, nil
		})
	if o.cluster {
		add(s, r, "status", "Show the live state of graphs in the cluster, and why objects are not ready.",
			func(in statusInput) (call, error) { return in.call(), nil })
	}
}

// call returns the command line of status.
func (in statusInput) call() call {
	args := []string{"status", "--output=json"}
	if in.AllNamespaces {
		args = append(args, "--all-namespaces")
	}
	if in.Namespace != "" {
		args = append(args, "--namespace="+in.Namespace)
	}
	return call{args: append(append(args, "--"), in.Names...), differs: true, may: reach{cluster: true}}
}

// call returns the command line of diff.
func (in diffInput) call(cluster bool) (call, error) {
	args := []string{"diff", "--output=json"}
	switch {
	case len(in.Files) > 0 && in.Old+in.New == "":
		if !cluster {
			return call{}, errors.New("this server reads no cluster; start it with --allow-cluster, or compare old with new")
		}
		args = append(append(args, repeated("filename", in.Files)...), repeated("platform", in.Platforms)...)
		return call{args: args, references: slices.Concat(in.Files, in.Platforms), differs: true, may: reach{cluster: true}}, nil
	case len(in.Files) == 0 && in.Old != "" && in.New != "" && len(in.Platforms) == 0:
		return call{args: append(args, "--", in.Old, in.New), references: []string{in.Old, in.New}, differs: true}, nil
	}
	return call{}, errors.New("give old and new, or files")
}

// or returns s, or other if s is empty.
func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// call is the command line that answers a tool.
type call struct {
	args []string
	// references are the arguments that may be paths.
	references []string
	// problems means that the output is a list of problems, and differs that exit code 1
	// is an answer.
	problems, differs bool
	// validate are the arguments for the problems of a failed command, or nil.
	validate []string
	// may has what the process may read. Revisions are added for references that name one.
	may reach
}

// add adds a tool whose calls are the command lines that of returns. A wrong call is an
// answer that the client can correct, and no error of the protocol.
func add[In any](s *sdk.Server, r *runner, name, description string, of func(In) (call, error)) {
	tool := &sdk.Tool{Name: name, Description: description, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}}
	sdk.AddTool(s, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, result, error) {
		c, err := of(in)
		if err == nil {
			err = checkReferences(r.dir, c.references...)
		}
		if err != nil {
			return nil, result{}, err
		}
		c.may.revisions = c.may.revisions || slices.ContainsFunc(c.references, func(v string) bool {
			_, ok := revision(r.dir, v)
			return ok
		})
		answer, err := r.answer(ctx, c)
		return nil, answer, err
	})
}
