// Gen writes the samples of the embedded modules, from which package roles computes rights, to a
// file. `make generate` runs it: to evaluate them takes seconds.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/modules/vet"
	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/render"
)

func main() {
	all, err := evaluate(context.Background())
	var data []byte
	if err == nil {
		data, err = encode(all)
	}
	if err == nil {
		err = os.WriteFile(os.Args[1], data, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// module is an embedded module with all its samples.
type module struct {
	name, digest string
	samples      []*v1alpha1.ResourceGraph
}

// evaluate returns the embedded modules.
func evaluate(ctx context.Context) ([]module, error) {
	var all []module
	for _, name := range modules.Embedded() {
		spec := v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}}
		sources, err := transform.Open(ctx, &modules.Opener{}, name, spec, func(string) modules.Place { return modules.Place{} })
		if err != nil {
			return nil, err
		}
		p, err := sources.Load()
		if err != nil {
			return nil, err
		}
		samples, err := vet.Graphs(ctx, p, render.Limits{})
		if err != nil {
			return nil, err
		}
		all = append(all, module{name, p.Module.Digest, samples})
	}
	return all, nil
}

// encode returns modules as JSON, with one reduced sample in a line.
func encode(all []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("[")
	for i, m := range all {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n{\"digest\":%q,\"samples\":[", m.digest)
		for j, g := range roles.Reduce(m.samples) {
			line, err := json.Marshal(g)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				b.WriteString(",")
			}
			b.WriteString("\n ")
			b.Write(line)
		}
		b.WriteString("\n]}")
	}
	b.WriteString("\n]\n")
	return b.Bytes(), nil
}
