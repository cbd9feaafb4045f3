package output

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// objectFormats are the values of -o of commands that print objects.
var Formats = []string{"yaml", "json", "name"}

// encode writes one object in one of objectFormats, keys sorted.
func Encode(format string, object any, name string) ([]byte, error) {
	if format == "name" {
		return []byte(name + "\n"), nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	// Through a generic value, so that the keys of typed and untyped objects
	// come out in one order.
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
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(generic); err != nil {
		return nil, err
	}
	err = enc.Close()
	return b.Bytes(), err
}
