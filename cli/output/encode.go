// Package output encodes Kubernetes objects and writes them to stdout or to a
// directory, all of them or none.
//
// A command embeds [ObjectFlags], makes a [Sink] from them, adds encoded objects
// and commits. Until the commit, stdout and the directory are untouched, so that a
// failing command leaves nothing half written. Reports about problems are not
// objects; package report writes those.
package output

import (
	"bytes"
	"encoding/json"
	"io"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml/kyaml"

	"github.com/pequod-io/pequod/internal/source/yamlout"
)

// Formats are the values of -o of commands that print objects.
//
// kyaml is the part of YAML that kubectl 1.34 and newer print: braces and brackets
// instead of indentation, and all strings quoted.
var Formats = []string{"yaml", "json", "kyaml", "name"}

// Write writes a value to w, in the format yaml or json.
func Write(w io.Writer, format string, value any) error {
	data, err := Encode(format, value, "")
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// Encode returns one object in one of the [Formats], with sorted keys and a final
// newline. name is the whole output in the format "name".
func Encode(format string, object any, name string) ([]byte, error) {
	if format == "name" {
		return []byte(name + "\n"), nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	// The way through a generic value gives typed and untyped objects the same
	// order of keys: Go writes structs in the order of their fields.
	var generic any
	if err := utiljson.Unmarshal(data, &generic); err != nil {
		return nil, err
	}
	if format == "json" {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "    ")
		err := enc.Encode(generic)
		return b.Bytes(), err
	}
	if format == "kyaml" {
		data, err := (&kyaml.Encoder{}).Marshal(generic)
		return append(data, '\n'), err
	}
	return yamlout.Encode(generic)
}
