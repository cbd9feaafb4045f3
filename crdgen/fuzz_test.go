package crdgen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen/compat"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/read"
)

// FuzzParity generates a schema and documents from a small grammar and compares
// CUE's verdicts with those of the generated CRD. What it finds is kept in
// testdata/parity. A child process examines each input first, because a schema
// that CUE can't evaluate may end the process.
func FuzzParity(f *testing.F) {
	for seed := range 40 {
		f.Add(randomBytes(seed))
	}
	names := testNames()
	x := &examiner{}
	f.Cleanup(x.stop)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			return
		}
		it := specimenOf(data)
		if !x.judge(t, it).Generates {
			return
		}
		// Generate again in this process, so that the fuzzer sees the coverage of
		// the generator.
		if _, input, ok := compiled(it.Schema); ok {
			_, _ = generate(input, names)
		}
	})
}

// FuzzCompatible changes a few bytes of a schema's input, and compares compat's
// changes between the two CRDs with the verdicts of an API server on documents.
func FuzzCompatible(f *testing.F) {
	for seed := range 40 {
		f.Add(randomBytes(seed), byte(7*seed), byte(11*seed+1), byte(seed%3))
	}
	x := &examiner{}
	f.Cleanup(x.stop)
	f.Fuzz(func(t *testing.T, data []byte, at, with, more byte) {
		if len(data) == 0 || len(data) > 400 {
			return
		}
		it := specimenOf(data)
		changed := slices.Clone(data)
		for i := range int(more%4) + 1 {
			changed[(int(at)+5*i)%len(data)] += with
		}
		other := specimenOf(changed)
		it.Changed, it.Documents = other.Schema, append(it.Documents, other.Documents...)
		x.judge(t, it)
	})
}

func randomBytes(seed int) []byte {
	data := make([]byte, 120)
	state := uint32(seed*2654435761 + 1)
	for i := range data {
		state = state*1664525 + 1013904223
		data[i] = byte(state >> 24)
	}
	return data
}

// specimen is a schema and documents for it. With a changed schema, the CRDs of
// the two schemas are compared; without, the CRD is compared with CUE.
type specimen struct {
	Schema, Changed string
	Documents       []string
	// Alone leaves out the CRD: CUE alone judges the documents.
	Alone bool
}

func specimenOf(data []byte) specimen {
	g := &grammar{data: data, bounded: map[string]bool{}}
	it := specimen{Schema: g.schema()}
	for range 12 {
		it.Documents = append(it.Documents, g.document())
	}
	return it
}

// finding is the result of comparing CUE and the CRD for a schema and its documents.
type finding struct {
	// Problem describes a disagreement between CUE and the CRD.
	Problem string
	// Generates means that CUE could evaluate the schema, so that there may be a
	// CRD.
	Generates bool
}

// stage is a step in the examination of a schema.
type stage int

const (
	evaluating stage = iota // CUE alone
	generating              // the CRD
	comparing               // the documents
)

// examine compares CUE with the CRD. It calls enter at the start of each stage.
func examine(names v1alpha1.Names, it specimen, enter func(stage)) (found finding) {
	defer func() {
		if r := recover(); r != nil && !read.FromCUE() {
			panic(r)
		}
	}()
	module, input, ok := compiled(it.Schema)
	if !ok {
		return finding{}
	}
	if it.Alone {
		for _, doc := range it.Documents {
			_, _, _ = judge(module, []byte(doc))
		}
		return finding{}
	}
	enter(generating)
	result, err := generate(input, names)
	enter(comparing)
	found.Generates = true
	if err != nil {
		if strings.Contains(err.Error(), "CustomResourceDefinition ") {
			found.Problem = fmt.Sprintf("the API server doesn't take the CRD of\n%s\n%v", it.Schema, err)
		}
		return found
	}
	server, err := serverOf(result.CRD)
	if err != nil {
		found.Problem = err.Error()
		return found
	}
	if it.Changed != "" {
		found.Problem = incompatibility(names, it, result.CRD, server)
		return found
	}
	for _, doc := range it.Documents {
		if found.Problem = disagreement(module, server, result.Notes, it.Schema, []byte(doc)); found.Problem != "" {
			return found
		}
	}
	return found
}

// incompatibility describes a document that the old CRD accepts and the CRD of
// the changed schema rejects, although no change between them is called breaking.
func incompatibility(names v1alpha1.Names, it specimen, old *crdType, before server) string {
	_, input, ok := compiled(it.Changed)
	if !ok {
		return ""
	}
	result, err := generate(input, names)
	if err != nil {
		return ""
	}
	changes := compat.Check(old, result.CRD)
	if len(changes) == 0 || slices.ContainsFunc(changes, func(c compat.Change) bool { return c.Breaking() }) {
		return ""
	}
	after, err := serverOf(result.CRD)
	if err != nil {
		return err.Error()
	}
	for _, doc := range it.Documents {
		if _, err := before.create([]byte(doc)); err != nil {
			continue
		}
		if _, err := after.create([]byte(doc)); err != nil {
			return fmt.Sprintf("safe changes reject a document:\n%s\n%s\n%s\n%v\n%+v", it.Schema, it.Changed, doc, err, changes)
		}
	}
	return ""
}

// disagreement describes a difference between the verdicts of CUE and of the CRD
// on a document that no note explains. It returns "" if there is none.
func disagreement(module cue.Value, s server, notes problem.List, source string, doc []byte) string {
	c := compare(module, s, doc)
	switch {
	case c.falselyRejected():
		return fmt.Sprintf("CUE accepts what the CRD rejects:\n%s\n%s\n%v", source, doc, c.crd)
	case c.changed != "":
		return fmt.Sprintf("storing changes what is rendered:\n%s\n%s\n%s", source, doc, c.changed)
	case c.letThrough() && !admitsWithout(module, s, notes, doc, c.cue):
		return fmt.Sprintf("the CRD accepts what CUE rejects, and no note says so:\n%s\n%s\n%v\nnotes: %v", source, doc, c.cue, notes)
	}
	return ""
}

// admitsWithout reports whether the notes explain that the CRD accepts doc: by a
// note on the field of CUE's error, or on a field that this one refers to. The
// CRD must refuse the document without the fields that have notes.
func admitsWithout(module cue.Value, s server, notes problem.List, doc []byte, err error) bool {
	if _, ok := admits(notes, err); ok {
		return true
	}
	var content map[string]any
	if yaml.Unmarshal(doc, &content) != nil {
		return false
	}
	if rest, ok := withoutDisallowed(content, err); ok {
		c := compare(module, s, rest)
		_, ok := admits(notes, c.cue)
		return c.cue != nil && ok
	}
	before := len(content)
	for _, n := range notes {
		fields := strings.FieldsFunc(n.Path, func(r rune) bool { return r == '.' || r == '[' })
		if len(fields) > 1 {
			delete(content, fields[1])
		}
	}
	if len(content) == before {
		return false
	}
	rest, err := json.Marshal(content)
	if err != nil {
		return false
	}
	c := compare(module, s, rest)
	if !c.letThrough() {
		return true
	}
	_, ok := admits(notes, c.cue)
	return ok
}

// withoutDisallowed returns a document without the fields that CUE doesn't allow.
// If an if reads such a field, CUE reports only that field and no other error.
func withoutDisallowed(content map[string]any, err error) ([]byte, bool) {
	rest := maps.Clone(content)
	for _, e := range errors.Errors(err) {
		path := e.Path()
		if len(path) == 0 || !strings.Contains(e.Error(), "field not allowed") {
			return nil, false
		}
		delete(rest, path[len(path)-1])
	}
	data, err := json.Marshal(rest)
	return data, err == nil && len(rest) < len(content)
}

// compiled compiles a schema. CUE v0.17.1 panics over some disjunctions.
func compiled(source string) (module, input cue.Value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	module, input = moduleOf([]byte(source))
	_ = input.Validate() // as loading a module does
	return module, input, module.Err() == nil
}
