package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"cuelang.org/go/mod/modfile"
	"golang.org/x/mod/semver"
)

// metadataKey is the field of custom in a module file that has the metadata.
const metadataKey = "pequod.io@v0"

// Metadata describes a module for catalogues. It stands in the module file, which can be
// read without the archive:
//
//	custom: "pequod.io@v0": {
//		kinds: [{group: "shop.example.com", kind: "Shop", versions: ["v1"]}]
//		images: ["docker.io/library/nginx:1.31"]
//		minimumPequod: "v0.12.0"
//	}
//
// Catalogues show it without evaluating the module. Fields only grow.
type Metadata struct {
	// Description is one sentence about the module.
	Description string `json:"description,omitempty"`
	// Kinds are the kinds that the module defines.
	Kinds []Kind `json:"kinds,omitempty"`
	// Images are the container images in the samples of the module, sorted.
	Images []string `json:"images,omitempty"`
	// MinimumPequod is the oldest version of Pequod that can use the module.
	MinimumPequod string `json:"minimumPequod,omitempty"`
}

// Kind is a kind that a module defines.
type Kind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Versions are the versions of the kind, the stored one first.
	Versions []string `json:"versions"`
}

// TooNewError is a module that needs a newer version of Pequod.
type TooNewError struct {
	// Needs is the oldest version that can use the module, and Have the running one.
	Needs, Have string
}

func (e *TooNewError) Error() string {
	return fmt.Sprintf("needs Pequod %s or newer; this is %s", e.Needs, e.Have)
}

// CheckMinimum returns a [TooNewError] if the module with a module file needs a newer
// version of Pequod than the given one. Mistakes in the file are left to its reader, and
// versions that are none, such as those of development builds, are new enough.
func CheckMinimum(moduleFile []byte, have string) error {
	if !bytes.Contains(moduleFile, []byte("minimumPequod")) {
		return nil
	}
	file, err := modfile.ParseNonStrict(moduleFile, "module.cue")
	if err != nil {
		return nil
	}
	m, err := metadataOf(file)
	if err != nil || m == nil || !semver.IsValid(m.MinimumPequod) || !semver.IsValid(have) || semver.Compare(have, m.MinimumPequod) >= 0 {
		return nil
	}
	return &TooNewError{m.MinimumPequod, have}
}

// ReadMetadata returns the metadata in a module file, or nil if it has none.
func ReadMetadata(moduleFile []byte) (*Metadata, error) {
	file, err := modfile.ParseNonStrict(moduleFile, "module.cue")
	if err != nil {
		return nil, err
	}
	return metadataOf(file)
}

// metadataOf returns the metadata in a module file, or nil if it has none. Fields that
// a newer version of Pequod wrote are ignored.
func metadataOf(file *modfile.File) (*Metadata, error) {
	custom, ok := file.Custom[metadataKey]
	if !ok {
		return nil, nil
	}
	data, err := json.Marshal(custom)
	if err != nil {
		return nil, err
	}
	m := &Metadata{}
	err = json.Unmarshal(data, m)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		err = fmt.Errorf("field %s has the wrong type", wrong.Field)
	}
	if err != nil {
		return nil, fmt.Errorf("custom: %q: %w", metadataKey, err)
	}
	return m, nil
}
