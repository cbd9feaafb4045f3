package action

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/problem"
)

// maxInline is the size of the files of an inline source in bytes. The status has copies of them.
const maxInline = 256 << 10

// reserved are the names of files that pequod-actions writes.
const reserved = "pequod_override.tf.json, pequod.tfvars.json and pequod.tfplan"

// CheckTerraform returns the problems of the source in the field terraform of an Action, as decoded
// JSON. Their paths begin at the field.
func CheckTerraform(fields map[string]any) problem.List {
	w := walker{}
	w.source(fields)
	return w.problems
}

// source checks the field source of the executor terraform. What may be late is accepted.
func (w *walker) source(fields map[string]any) {
	source, ok := fields["source"].(map[string]any)
	if _, late := source[reference.FromKey]; !ok || late {
		return
	}
	outer := w.path
	defer func() { w.path = outer }()
	w.path = append(slices.Clone(outer), "source")
	if (source["inline"] != nil) == (source["configMapRef"] != nil) {
		w.add(problem.Problem{Message: "exactly one of inline and configMapRef is required"})
	}
	files, ok := source["inline"].(map[string]any)
	if _, late := files[reference.FromKey]; !ok || late {
		return
	}
	w.path = append(w.path, "inline")
	size, root := 0, false
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, _ := files[name].(string)
		size += len(name) + len(text)
		root = root || !strings.Contains(name, "/") && slices.ContainsFunc([]string{".tf", ".tf.json", ".tofu", ".tofu.json"}, func(suffix string) bool {
			return strings.HasSuffix(name, suffix)
		})
		if message := badFile(name); message != "" {
			w.path = append(w.path, name)
			w.add(problem.Problem{Message: message})
			w.path = w.path[:len(w.path)-1]
		}
	}
	if !root {
		w.add(problem.Problem{Message: "has no configuration in the root module", Hint: "a file whose name ends in .tf, .tf.json, .tofu or .tofu.json"})
	}
	if size > maxInline {
		w.add(problem.Problem{Message: fmt.Sprintf("the files have %d bytes, more than %d", size, maxInline), Hint: "use configMapRef"})
	}
}

// badFile returns why a name can't be that of a file, or "".
func badFile(name string) string {
	switch {
	case name == "" || path.IsAbs(name) || path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../") || strings.ContainsAny(name, "\\\x00"):
		return "isn't the name of a file in the directory"
	case slices.Contains([]string{"pequod_override.tf.json", "pequod.tfvars.json", "pequod.tfplan"}, name):
		return "pequod-actions writes " + reserved
	}
	return ""
}
