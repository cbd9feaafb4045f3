package executor

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The file of outputs in an archive.
const (
	outputsFile = "outputs.json"
	maxOutputs  = 64 << 10
	maxFiles    = 1000
)

// Outputs returns the outputs in the file outputs.json of a zip. Other files are not read.
func Outputs(archive []byte) (map[string]any, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, errors.New("it is not a zip")
	}
	if len(z.File) > maxFiles {
		return nil, fmt.Errorf("it has more than %d files", maxFiles)
	}
	for _, f := range z.File {
		switch {
		case f.Name != outputsFile:
			continue
		case !f.Mode().IsRegular():
			return nil, errors.New(outputsFile + " is not a regular file")
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", outputsFile, err)
		}
		defer r.Close()
		// The size that the archive declares may be wrong.
		data, err := io.ReadAll(io.LimitReader(r, maxOutputs+1))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", outputsFile, err)
		}
		return OutputsJSON(outputsFile, data)
	}
	return nil, errors.New("it has no file " + outputsFile)
}

// OutputsJSON returns the outputs in the JSON of a file.
func OutputsJSON(name string, data []byte) (map[string]any, error) {
	if len(data) > maxOutputs {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxOutputs)
	}
	// An error of the decoder could quote a value.
	if values, ok := Decode(data).(map[string]any); ok && json.Valid(data) {
		return values, nil
	}
	return nil, errors.New(name + " is not a JSON object")
}
