package tree

import (
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxCycle is the largest number of files of one package that may depend on
// each other in a circle. A few mutually recursive files are normal in Go; a
// package whose files all depend on each other can only be understood as a whole.
const maxCycle = 6

// TestCycles checks that no package has a large cycle of files.
//
// A file depends on another file of its package if it uses a function, method,
// type, variable or constant that is declared there. Fields do not count.
func TestCycles(t *testing.T) {
	for _, p := range packages(t) {
		files := largestCycle(p.dependencies(t))
		if testing.Verbose() && len(files) > 1 {
			t.Logf("%s: %d of %d files: %s", p.dir, len(files), len(p.GoFiles), strings.Join(files, " "))
		}
		if len(files) > maxCycle {
			t.Errorf("%s: %d files depend on each other in a cycle, more than %d: %s",
				p.dir, len(files), maxCycle, strings.Join(files, " "))
		}
	}
}

// dependencies type-checks the package and returns, for every file, the files of
// the package that it depends on. Files are base names.
func (p *typedPackage) dependencies(t *testing.T) map[string][]string {
	t.Helper()
	fset, pkg, info := p.check(t)
	uses := map[string]map[string]bool{}
	for ident, object := range info.Uses {
		if object.Pkg() != pkg || !declaredAtTop(pkg, object) {
			continue
		}
		from := filepath.Base(fset.Position(ident.Pos()).Filename)
		to := filepath.Base(fset.Position(object.Pos()).Filename)
		if from != to {
			if uses[from] == nil {
				uses[from] = map[string]bool{}
			}
			uses[from][to] = true
		}
	}
	dependencies := map[string][]string{}
	for _, name := range p.GoFiles {
		for to := range uses[name] {
			dependencies[name] = append(dependencies[name], to)
		}
		slices.Sort(dependencies[name])
	}
	return dependencies
}

// declaredAtTop reports whether object is declared at package level or is a
// method with a body. Fields, interface methods and local names are not.
func declaredAtTop(pkg *types.Package, object types.Object) bool {
	if f, ok := object.(*types.Func); ok {
		f = f.Origin()
		receiver := f.Signature().Recv()
		return receiver == nil || !types.IsInterface(receiver.Type())
	}
	return object.Parent() == pkg.Scope()
}

// largestCycle returns the largest strongly connected component of a graph with
// more than one node, sorted; nil if the graph has no cycle. It is Tarjan's
// algorithm.
func largestCycle(edges map[string][]string) []string {
	var (
		largest, stack []string
		index          = map[string]int{}
		low            = map[string]int{}
		onStack        = map[string]bool{}
		visit          func(string)
	)
	visit = func(n string) {
		index[n] = len(index) + 1
		low[n] = index[n]
		stack, onStack[n] = append(stack, n), true
		for _, next := range edges[n] {
			if index[next] == 0 {
				visit(next)
				low[n] = min(low[n], low[next])
			} else if onStack[next] {
				low[n] = min(low[n], index[next])
			}
		}
		if low[n] != index[n] {
			return
		}
		start := slices.Index(stack, n)
		component := slices.Clone(stack[start:])
		stack = stack[:start]
		for _, member := range component {
			onStack[member] = false
		}
		if len(component) > max(1, len(largest)) {
			slices.Sort(component)
			largest = component
		}
	}
	nodes := make([]string, 0, len(edges))
	for n := range edges {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes)
	for _, n := range nodes {
		if index[n] == 0 {
			visit(n)
		}
	}
	return largest
}

func TestLargestCycle(t *testing.T) {
	for _, test := range []struct {
		name  string
		edges map[string][]string
		want  string
	}{
		{"none", map[string][]string{"a": {"b"}, "b": {"c"}}, ""},
		{"pair", map[string][]string{"a": {"b"}, "b": {"a"}, "c": {"a"}}, "a b"},
		{"two, the larger", map[string][]string{"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c"}}, "c d e"},
		{"through a shared file", map[string][]string{"a": {"hub"}, "b": {"hub"}, "hub": {"a", "b"}}, "a b hub"},
	} {
		if got := strings.Join(largestCycle(test.edges), " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
