// Package explain describes the fields of a kind, as kubectl explain does, from the schema
// of the kind alone.
//
//   - find.go: the kind and the field that an argument such as webservice.spec.port names
//   - explain.go: the description of a field as text
//   - complete.go: the continuations of such an argument
//
// [Parse] and [Find] find a field, and [Field.Write] prints it. The text is that of kubectl
// byte for byte, which a test compares with kubectl's own code.
package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mitchellh/go-wordwrap"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/crdgen/openapi"
)

// maxShortEnum is the number of values of an enumeration that a list of fields shows.
const maxShortEnum = 4

// Options are the choices of a user.
type Options struct {
	// Recursive prints the names and types of the fields at all depths, without
	// descriptions.
	Recursive bool
	// MaxDepth bounds Recursive; 0 means no bound.
	MaxDepth int
}

// Write prints a field and the fields in it. Text of the schema is printed as it is; a
// terminal needs it escaped.
func (f Field) Write(w io.Writer, o Options) error {
	p := &printer{kind: f.Kind, Options: o}
	if f.Kind.Group != "" {
		fmt.Fprintf(&p.out, "GROUP:      %s\n", f.Kind.Group)
	}
	fmt.Fprintf(&p.out, "KIND:       %s\nVERSION:    %s\n\n", f.Kind.Kind, f.Kind.Version)
	if len(f.Path) > 0 {
		fmt.Fprintf(&p.out, "FIELD: %s <%s>\n", f.Path[len(f.Path)-1], f.Type())
		p.longEnum(f.Schema)
		p.out.WriteString("\n\n")
	}
	p.out.WriteString("DESCRIPTION:\n")
	var d strings.Builder
	p.description(&d, f.Schema)
	text := d.String()
	if text == "" {
		text = "<empty>"
	}
	p.out.WriteString(indent(4, wordwrap.WrapString(text, 76)) + "\n")
	at := p.out.Len()
	p.fields(f.Schema, 1)
	if p.out.Len() > at {
		list := string(p.out.Bytes()[at:])
		p.out.Truncate(at)
		p.out.WriteString("FIELDS:\n" + list)
	}
	p.out.WriteString("\n")
	_, err := w.Write(p.out.Bytes())
	return err
}

// printer writes the description of one field.
type printer struct {
	Options
	kind openapi.Kind
	out  bytes.Buffer
}

// fields prints the fields of s, of its items and of its values. level is their depth, from 1.
func (p *printer) fields(s apiextensionsv1.JSONSchemaProps, level int) {
	s = p.kind.Resolve(s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p.field(s, name, level)
		if p.Recursive && (p.MaxDepth == 0 || level < p.MaxDepth) {
			p.fields(s.Properties[name], level+1)
		}
	}
	for _, in := range inside(s) {
		p.fields(in, level)
	}
}

// field prints one field of s.
func (p *printer) field(s apiextensionsv1.JSONSchemaProps, name string, level int) {
	pad := level * 2
	f := s.Properties[name]
	fmt.Fprintf(&p.out, "%s\t<%s>", indent(pad, name), typeOf(p.kind, f))
	if slices.Contains(s.Required, name) {
		p.out.WriteString(" -required-")
	}
	if len(f.Enum) > 0 {
		p.out.WriteString("\n" + indent(pad, "enum: "+strings.Join(values(f.Enum[:min(len(f.Enum), maxShortEnum)]), ", ")))
		if len(f.Enum) > maxShortEnum {
			p.out.WriteString(", ....")
		}
	}
	p.out.WriteString("\n")
	if p.Recursive {
		return
	}
	text := f.Description
	if text == "" {
		text = "<no description>"
	}
	p.out.WriteString(indent(pad+2, wordwrap.WrapString(text, uint(78-pad))) + "\n\n")
}

// longEnum prints the values of an enumeration, one a line.
func (p *printer) longEnum(s apiextensionsv1.JSONSchemaProps) {
	if len(s.Enum) > 0 {
		p.out.WriteString("ENUM:\n    " + strings.Join(values(s.Enum), "\n    "))
	}
}

// description writes the descriptions of s, of its items and of its values.
func (p *printer) description(w *strings.Builder, s apiextensionsv1.JSONSchemaProps) {
	s = p.kind.Resolve(s)
	if s.Description != "" {
		w.WriteString(s.Description + "\n")
	}
	for _, in := range inside(s) {
		p.description(w, in)
	}
}

// typeOf returns the type of a schema, such as map[string]string or []Object.
func typeOf(k openapi.Kind, s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return "[]" + typeOf(k, *s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map[string]" + typeOf(k, *s.AdditionalProperties.Schema)
	case len(s.AllOf) == 1 && len(s.Properties) == 0:
		return typeOf(k, s.AllOf[0])
	case s.Ref != nil && k.Resolve(s).Type != "object":
		return k.Resolve(s).Type
	case s.Ref != nil:
		return openapi.RefName(s)
	case s.Type == "" || s.Type == "object":
		return "Object"
	}
	return s.Type
}

// inside returns the schemas that describe s or its content without a name: alternatives,
// items and values.
func inside(s apiextensionsv1.JSONSchemaProps) []apiextensionsv1.JSONSchemaProps {
	all := slices.Clone(s.AllOf)
	if s.Items != nil && s.Items.Schema != nil {
		all = append(all, *s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		all = append(all, *s.AdditionalProperties.Schema)
	}
	return all
}

// values returns the values of an enumeration as text. Strings have no quotes, unless they
// are empty.
func values(all []apiextensionsv1.JSON) []string {
	var shown []string
	for _, v := range all {
		var text string
		if err := json.Unmarshal(v.Raw, &text); err != nil || text == "" {
			text = string(v.Raw)
		}
		shown = append(shown, text)
	}
	return shown
}

// indent puts n blanks before each line of text.
func indent(n int, text string) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}
