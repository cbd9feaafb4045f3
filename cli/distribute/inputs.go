package distribute

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/internal/source"
)

// inputs returns a row for each field below a schema: its path, type, default and the
// first sentence of its description. A field that must be given has a type with "!".
// Fields of items have the path of the list with [], those of maps with *.
func inputs(schema apiextensionsv1.JSONSchemaProps) [][]string {
	return fields(nil, "", schema)
}

func fields(rows [][]string, prefix string, schema apiextensionsv1.JSONSchemaProps) [][]string {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		kind := typeText(field)
		if slices.Contains(schema.Required, name) {
			kind += "!"
		}
		value := "-"
		if field.Default != nil {
			value = string(field.Default.Raw)
		}
		rows = append(rows, []string{
			source.Escape(prefix+name, ""), kind, source.Escape(value, ""), source.Escape(firstSentence(field.Description), ""),
		})
		rows = below(rows, prefix+name, field)
	}
	return rows
}

// below adds the rows of the fields in a field.
func below(rows [][]string, path string, field apiextensionsv1.JSONSchemaProps) [][]string {
	rows = fields(rows, path+".", field)
	if field.Items != nil && field.Items.Schema != nil {
		rows = below(rows, path+"[]", *field.Items.Schema)
	}
	if field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil {
		rows = below(rows, path+".*", *field.AdditionalProperties.Schema)
	}
	return rows
}

// typeText returns the type of a field in short, such as integer, []string or a|b.
func typeText(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, strings.Trim(string(v.Raw), `"`))
		}
		return source.Escape(strings.Join(values, "|"), "")
	case s.XIntOrString:
		return "integer|string"
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return "[]" + typeText(*s.Items.Schema)
	case s.Type == "object" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map[string]" + typeText(*s.AdditionalProperties.Schema)
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// firstSentence returns the first sentence of a description, in one line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return text
}
