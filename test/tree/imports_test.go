package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/pequod-io/pequod"

// A rule keeps packages of ours away from other packages. Both are patterns
// as in `go list`: a path, or a path and everything below it ("render/...").
// Patterns of packages of ours are relative to the module.
type rule struct {
	packages []string
	except   []string
	// never must not be imported, nor reached through other packages unless
	// only direct imports count: what a library imports is then its own affair.
	never  []string
	direct bool
	// leaves are packages of libraries whose own imports don't count.
	leaves []string
	why    string
}

// importRules are those of docs/design.md: the ResourceGraph is the seam, so
// nothing on the cluster's side knows CUE, and nothing below the command line
// knows flags, terminals or the environment.
var importRules = []rule{{
	packages: []string{"api/...", "render/...", "crdgen/...", "inventory/...", "applier/...", "modules/...", "operator/...", "review/..."},
	never:    []string{module + "/cli/...", module + "/cmd/..."},
	why:      "libraries don't know the command line",
}, {
	packages: []string{"api/...", "render/...", "crdgen/...", "inventory/...", "applier/...", "modules/...", "operator/...", "internal/..."},
	never:    ours("review"),
	why:      "a review is above everything that it describes",
}, {
	packages: []string{"api/...", "render/...", "crdgen/...", "inventory/...", "applier/...", "modules/...", "operator/...", "internal/...", "cmd/pequod-applier", "cmd/pequod-manager"},
	never:    ours("actions"),
	why:      "what leaves the cluster is a program of its own",
}, {
	packages: []string{"actions/...", "cmd/pequod-actions"},
	never:    append(ours("render", "crdgen", "modules", "cli"), "cuelang.org/go/..."),
	why:      "right of the ResourceGraph there is no CUE",
}, {
	packages: []string{"api/..."},
	never:    ours("render", "crdgen", "inventory", "applier", "modules", "operator"),
	why:      "the kinds are data and pure functions",
}, {
	packages: []string{"internal/..."},
	never:    ours("api", "render", "crdgen", "inventory", "applier", "modules", "operator", "cli", "cmd"),
	why:      "internal packages are below all others",
}, {
	packages: []string{"render/..."},
	never:    ours("modules", "inventory", "applier", "operator"),
	why:      "render takes an fs.FS and knows no cluster",
}, {
	packages: []string{"crdgen/..."},
	never:    ours("modules", "inventory", "applier", "operator"),
	why:      "crdgen takes a built module and knows no cluster",
}, {
	packages: []string{"inventory/..."},
	never:    ours("render", "crdgen", "applier", "modules", "operator"),
	why:      "the inventory is below the applier",
}, {
	packages: []string{"api/...", "applier/...", "inventory/...", "cmd/pequod-applier"},
	never:    []string{"cuelang.org/go/..."},
	why:      "right of the ResourceGraph there is no CUE",
}, {
	// graphs, certs and serve are the authors' check, which pequod-applier serves, too.
	packages: []string{"operator/admission/graphs", "operator/admission/certs", "operator/admission/serve", "cmd/internal/..."},
	never: append(ours("render", "crdgen", "modules", "inventory/foreign", "operator/worker", "operator/transform", "operator/instance"),
		"cuelang.org/go/..."),
	why: "whoever executes graphs can check their authors without knowing modules",
}, {
	packages: []string{"operator/...", "cmd/pequod-manager"},
	// definitions marshals and compares CRDs, and gen is no part of the manager.
	except: []string{"operator/worker/child", "operator/definitions", "operator/roles/gen"},
	never:  []string{"cuelang.org/go/...", module + "/render", module + "/crdgen"},
	direct: true,
	why:    "only child processes evaluate: an evaluation in the manager could not be interrupted",
}, {
	packages: []string{"modules/oci"},
	never:    append(ours("api", "render", "crdgen", "inventory", "applier", "operator"), "cuelang.org/go/..."),
	why:      "an artifact is bytes with digests, whatever it holds",
}, {
	packages: []string{"modules/git"},
	never:    append(ours("api", "render", "crdgen", "inventory", "applier", "operator", "modules/artifact"), "cuelang.org/go/..."),
	why:      "a revision is files, whatever they hold",
}, {
	packages: []string{"api/...", "render/...", "crdgen/...", "inventory/...", "applier/...", "internal/...", "cmd/pequod-applier"},
	never:    []string{"github.com/go-git/...", "github.com/jdx/go-netrc/..."},
	why:      "only package modules and the command line know git servers",
}, {
	packages: []string{"..."},
	except:   []string{"modules/git"},
	never:    []string{"github.com/go-git/..."},
	direct:   true,
	why:      "modules/git bounds what the library reads, and classifies its errors",
}, {
	packages: []string{"modules/sign"},
	never:    append(ours("api", "render", "crdgen", "inventory", "applier", "operator", "modules/artifact"), "cuelang.org/go/..."),
	why:      "an artifact is signed by its digest, whatever it holds",
}, {
	packages: []string{"api/...", "render/...", "crdgen/...", "inventory/...", "applier/...", "cmd/pequod-applier"},
	never:    []string{"github.com/sigstore/...", "github.com/secure-systems-lab/..."},
	why:      "only package modules and the command line know signatures",
}, {
	packages: []string{"..."},
	except:   []string{"modules/sign", "test/sigstore"}, // the latter makes signatures for tests and verifies none
	never:    []string{"github.com/sigstore/...", "github.com/secure-systems-lab/..."},
	direct:   true,
	why:      "one package decides what a valid signature is",
}, {
	packages: []string{"modules/pullsecret"},
	never:    append(ours("api", "render", "crdgen", "inventory", "applier", "operator", "modules/artifact"), "cuelang.org/go/...", "k8s.io/client-go/..."),
	why:      "credentials are made of Secrets that callers have read",
}, {
	packages: []string{"modules/inline"},
	never:    append(ours("render", "crdgen", "inventory", "applier", "operator", "modules/oci", "modules/artifact"), "k8s.io/client-go/..."),
	why:      "callers have the objects, from a file or from a cluster",
}, {
	packages: []string{"modules/trust"},
	never:    append(ours("api", "render", "crdgen", "inventory", "applier", "operator", "modules/artifact"), "cuelang.org/go/..."),
	why:      "a module is trusted before it is read",
}, {
	packages: []string{"modules/artifact"},
	never:    ours("api", "render", "crdgen", "inventory", "applier", "operator", "modules/oci"),
	why:      "packing a module needs no registry and no evaluation",
}, {
	packages: []string{"modules/archive", "modules/bundle", "modules/provenance"},
	never:    append(ours("api", "render", "crdgen", "inventory", "applier", "operator", "modules/oci"), "cuelang.org/go/..."),
	why:      "a bundle is files, whatever they hold",
}, {
	packages: []string{"api/...", "render/...", "crdgen/...", "inventory/...", "applier/...", "cmd/pequod-applier"},
	never:    []string{"github.com/google/go-containerregistry/..."},
	why:      "only package modules and the command line know registries",
}, {
	packages: []string{"..."},
	except:   []string{"cli/...", "cmd/..."},
	never:    []string{"github.com/spf13/cobra/...", "github.com/spf13/viper/...", "charm.land/lipgloss/..."},
	direct:   true,
	why:      "flags, defaults and colour belong to the command line",
}, {
	packages: []string{"cmd/pequod-applier", "cmd/pequod-manager", "cmd/internal/..."},
	never: []string{module + "/cli/...", "github.com/spf13/cobra/...", "github.com/spf13/viper/...",
		"charm.land/lipgloss/..."},
	direct: true,
	why:    "the in-cluster programs parse their flags with pflag",
}, {
	packages: []string{"applier/...", "cmd/pequod-applier"},
	never: []string{"google.golang.org/grpc/...", "go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/...",
		"go.opentelemetry.io/contrib/...", "k8s.io/apiserver/pkg/server/...", "k8s.io/apiserver/pkg/authentication/authenticatorfactory/...",
		"k8s.io/apiserver/pkg/authorization/authorizerfactory/...", "k8s.io/apiserver/plugin/...", "sigs.k8s.io/controller-runtime/pkg/metrics/filters/..."},
	why: "the API server's own server, with gRPC and OpenTelemetry, is 15 MB that the applier doesn't need",
}, {
	packages: []string{"operator/worker/child"},
	never:    append(ours("applier", "inventory"), "k8s.io/client-go/..."),
	direct:   true,
	why:      "a child process has no network and no cluster",
}, {
	packages: []string{"cli/..."},
	except:   []string{"cli", "cli/docgen", "cli/actions", "cli/author", "cli/distribute", "cli/review", "cli/run", "cli/install", "cli/pipeline", "cli/kinds", "cli/mcp", "cli/ui/..."},
	never:    ours("cli/actions", "cli/author", "cli/distribute", "cli/review", "cli/run", "cli/install", "cli/pipeline", "cli/kinds", "cli/mcp", "cli/ui"),
	why:      "the base packages of the command line don't know its commands",
}, {
	packages: []string{"..."},
	never:    []string{"github.com/fluxcd/cli-utils/..."},
	direct:   true,
	why:      "kstatus is sigs.k8s.io/cli-utils: the fork takes a suspended Job for one that hasn't started",
}, {
	packages: []string{"..."},
	except:   []string{"applier/cluster"},
	never:    []string{"github.com/fluxcd/pkg/ssa/..."},
	direct:   true,
	why:      "only package cluster rewrites managedFields",
}, {
	packages: []string{"applier/...", "cli/...", "cmd/..."},
	never:    []string{"k8s.io/kubectl/..."},
	leaves:   []string{"github.com/fluxcd/pkg/ssa"},
	why:      "kubectl's scheme costs every start CPU time, which only fluxcd/pkg/ssa is worth: see docs/dependencies.md",
}, {
	packages: []string{"cmd/pequod"},
	never:    []string{"sigs.k8s.io/controller-runtime/..."},
	leaves:   []string{"github.com/fluxcd/pkg/ssa"}, // whose migration of managedFields is worth the start
	why:      "every command would initialize the libraries of programs in a cluster",
}, {
	packages: []string{"cmd/..."},
	never:    []string{"testing", "testing/...", module + "/test/..."},
	// It has a test in a file whose name doesn't end in _test.go.
	leaves: []string{"github.com/digitorus/pkcs7"},
	why:    "no test code is shipped",
}}

func ours(dirs ...string) []string {
	var patterns []string
	for _, dir := range dirs {
		patterns = append(patterns, module+"/"+dir+"/...")
	}
	return patterns
}

// tree is every top-level directory that may hold packages, true if it must:
// a directory that is renamed would otherwise leave its rules behind.
var tree = map[string]bool{
	"api": true, "cli": true, "cmd": true, "crdgen": true, "modules": true, "render": true,
	"test": true, "internal": true, "config": true, "inventory": true, "applier": true, "operator": false,
	"review": true, "actions": true,
}

func TestImportRules(t *testing.T) {
	packages := listPackages(t)
	for _, found := range breaches(importRules, packages) {
		t.Error(found)
	}
}

func TestImportRulesCoverTheTree(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range listPackages(t) {
		dir, own := ownPath(p.ImportPath)
		if !own || dir == "" {
			continue
		}
		top, _, _ := strings.Cut(dir, "/")
		if top == "bin" {
			continue // what is built, and never committed
		}
		if _, known := tree[top]; !known {
			t.Errorf("%s: unknown top-level directory: add it to tree, and to the rules that hold for it", p.ImportPath)
		}
		seen[top] = true
	}
	for top, required := range tree {
		if required && !seen[top] {
			t.Errorf("%s: no package in it, so its import rules hold nothing", top)
		}
	}
}

// goPackage is what we read of `go list -json`.
type goPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	var packages []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("%s: %v", cmd, err)
		}
		packages = append(packages, p)
	}
}

// breaches returns one line per package of ours and forbidden package that it
// reaches, with the shortest chain of imports that leads there.
func breaches(rules []rule, packages []goPackage) []string {
	imports := map[string][]string{}
	for _, p := range packages {
		imports[p.ImportPath] = p.Imports
	}
	var found []string
	for _, p := range packages {
		dir, own := ownPath(p.ImportPath)
		if !own {
			continue
		}
		for _, r := range rules {
			if !matchAny(r.packages, dir) || matchAny(r.except, dir) {
				continue
			}
			for _, chain := range reach(p.ImportPath, imports, r.never, r.leaves, r.direct) {
				found = append(found, strings.Join(chain, " → ")+": "+r.why)
			}
		}
	}
	slices.Sort(found)
	return found
}

// reach walks the imports breadth-first. It doesn't look behind a forbidden
// package: what that one imports is not another breach.
func reach(from string, imports map[string][]string, never, leaves []string, direct bool) [][]string {
	var found [][]string
	seen := map[string]bool{from: true}
	queue := [][]string{{from}}
	for len(queue) > 0 {
		chain := queue[0]
		queue = queue[1:]
		for _, path := range imports[chain[len(chain)-1]] {
			if seen[path] {
				continue
			}
			seen[path] = true
			next := append(slices.Clone(chain), path)
			switch {
			case matchAny(never, path):
				found = append(found, next)
			case !direct && !matchAny(leaves, path):
				queue = append(queue, next)
			}
		}
	}
	return found
}

// ownPath returns the path of a package of ours relative to the module.
func ownPath(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func matchAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return match(pattern, path) })
}

func match(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	if root, tree := strings.CutSuffix(pattern, "/..."); tree {
		return path == root || strings.HasPrefix(path, root+"/")
	}
	return path == pattern
}

func TestImportRuleMatching(t *testing.T) {
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"render", "render", true},
		{"render", "render/cuefmt", false},
		{"render/...", "render", true},
		{"render/...", "render/cuefmt", true},
		{"render/...", "renderer", false},
		{"cmd/pequod-applier", "cmd/pequod", false},
		{"cuelang.org/go/...", "cuelang.org/go/cue/load", true},
		{"cuelang.org/go/...", "cuelang.org/goal", false},
		{"...", "anything/at/all", true},
	} {
		if got := match(test.pattern, test.path); got != test.want {
			t.Errorf("match(%q, %q) = %t", test.pattern, test.path, got)
		}
	}
}

func TestImportRuleBreaches(t *testing.T) {
	packages := []goPackage{
		{module, nil},
		{module + "/api", []string{"fmt"}},
		{module + "/render", []string{module + "/api", module + "/helper"}},
		{module + "/render/deep", []string{module + "/render"}},
		{module + "/helper", []string{"lib/front"}},
		{module + "/cmd/x", []string{"cobra"}},
		{"lib/front", []string{"lib/back", "cobra"}},
		{"lib/back", []string{"lib/behind"}},
		{"lib/behind", nil},
		{"fmt", nil},
	}
	for _, test := range []struct {
		name string
		rule rule
		want []string
	}{
		{"kept", rule{packages: []string{"api/..."}, never: []string{"lib/..."}}, nil},
		{"through others", rule{packages: []string{"render/..."}, never: []string{"lib/back"}}, []string{
			module + "/render → " + module + "/helper → lib/front → lib/back: why",
			module + "/render/deep → " + module + "/render → " + module + "/helper → lib/front → lib/back: why",
		}},
		{"not behind a breach", rule{packages: []string{"helper"}, never: []string{"lib/..."}}, []string{
			module + "/helper → lib/front: why",
		}},
		{"direct only", rule{packages: []string{"..."}, never: []string{"cobra"}, direct: true}, []string{
			module + "/cmd/x → cobra: why",
		}},
		{"leaves", rule{packages: []string{"render/..."}, never: []string{"lib/back"}, leaves: []string{"lib/front"}}, nil},
		{"except", rule{packages: []string{"..."}, except: []string{"cmd/..."}, never: []string{"cobra"}, direct: true}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.rule.why = "why"
			if diff := cmp.Diff(test.want, breaches([]rule{test.rule}, packages)); diff != "" {
				t.Errorf("breaches (-want +got):\n%s", diff)
			}
		})
	}
}
