// Package protocol has the messages between a pool of package worker and its child
// processes. The pool writes requests to the standard input of a child and reads answers
// from its standard output, one at a time.
//
// A message is a frame: its length in bytes as four bytes, most significant first, and then
// JSON. The first request is Load, which a second frame follows: the sources of the platform,
// as they are. Every answer has the number of its request.
//
// The package bounds the size of messages and knows nothing of processes.
package protocol

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// The limits of messages, in bytes. An object in a cluster has at most some 3 MiB of JSON.
const (
	MaxRequest = 16 << 20
	MaxAnswer  = 64 << 20
	// MaxSources is the limit of the sources of one platform.
	MaxSources = 256 << 20
)

// Request is a message to a child. One of the pointers is set.
type Request struct {
	ID       uint64    `json:"id"`
	Load     *Load     `json:"load,omitempty"`
	Describe *Describe `json:"describe,omitempty"`
	Sample   *Sample   `json:"sample,omitempty"`
	Render   *Render   `json:"render,omitempty"`
	Convert  *Convert  `json:"convert,omitempty"`
}

// Load loads a platform. It is the first request of a child and never repeated. The next
// frame has the sources.
type Load struct {
	// Digest is the digest that the sources must have.
	Digest string `json:"digest"`
	// Timeout is the limit of the CPU time of each evaluation in this child, Clock that of its
	// time by the clock, and Memory that of its memory in bytes.
	Timeout time.Duration `json:"timeout"`
	Clock   time.Duration `json:"clock"`
	Memory  uint64        `json:"memory"`
	// AllowSecrets lets Secrets have literal data.
	AllowSecrets bool `json:"allowSecrets,omitempty"`
}

// Describe generates the CRD of the platform.
type Describe struct{}

// Sample renders samples of instances.
type Sample struct {
	// Timeout and Clock are the limits of all samples together.
	Timeout time.Duration `json:"timeout"`
	Clock   time.Duration `json:"clock"`
}

// Render renders one instance: an object of the API server, or one in a file.
type Render struct {
	Object json.RawMessage `json:"object,omitempty"`
	// Text is nil if Object is set.
	Text *Text `json:"text,omitempty"`
	// Namespace is that of an instance without one.
	Namespace string `json:"namespace,omitempty"`
	// Prune drops the fields that the schema of the platform lacks.
	Prune bool `json:"prune,omitempty"`
	// CheckOnly leaves the graph out of the answer.
	CheckOnly bool `json:"checkOnly,omitempty"`
}

// Text is an instance in a file. The answer's problems have positions in it.
type Text struct {
	// File is the name of the file in positions.
	File string `json:"file"`
	Data []byte `json:"data"`
	// Item is the index of the instance among those of the file. The items of a v1 List count.
	Item int `json:"item,omitempty"`
}

// Convert converts the specs of instances to another version of their kind.
type Convert struct {
	Objects []json.RawMessage `json:"objects"`
	Version string            `json:"version"`
}

// Answer is a message of a child. Failure is set, or the result of the request.
type Answer struct {
	ID      uint64   `json:"id"`
	Failure *Failure `json:"failure,omitempty"`

	// Description is the result of Describe.
	Description *Description `json:"description,omitempty"`
	// Samples are the result of Sample.
	Samples []*v1alpha1.ResourceGraph `json:"samples,omitempty"`
	// Graph and Problems are the result of Render.
	Graph    *v1alpha1.ResourceGraph `json:"graph,omitempty"`
	Problems problem.List            `json:"problems,omitempty"`
	// Specs are the results of Convert, in the order of the objects. A spec that
	// stays as it is is null.
	Specs []json.RawMessage `json:"specs,omitempty"`
}

// Description is what Describe finds out about a platform.
type Description struct {
	CRD     *apiextensionsv1.CustomResourceDefinition `json:"crd"`
	Names   v1alpha1.Names                            `json:"names"`
	Digest  string                                    `json:"digest"`
	Version string                                    `json:"version,omitempty"`
	Notes   problem.List                              `json:"notes,omitempty"`

	// StatusFields are the fields of #Status.
	StatusFields []string `json:"statusFields,omitempty"`

	IgnoresLabels      bool `json:"ignoresLabels,omitempty"`
	IgnoresAnnotations bool `json:"ignoresAnnotations,omitempty"`
	Converts           bool `json:"converts,omitempty"`
}

// Failure is an error of a child. One of the fields is set.
type Failure struct {
	// Problems are mistakes of the module.
	Problems problem.List `json:"problems,omitempty"`
	// Limit is the reason of an evaluation that was given up. The child ends after it.
	Limit string `json:"limit,omitempty"`
	// Corrupt is true if the sources don't have their digest.
	Corrupt bool `json:"corrupt,omitempty"`
	// Error is the text of any other error.
	Error string `json:"error,omitempty"`
}

// WriteFrame writes the length of a frame and the frame.
func WriteFrame(w io.Writer, data []byte) error {
	if err := WriteLength(w, int64(len(data))); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// WriteLength writes the length of a frame. The caller writes its bytes.
func WriteLength(w io.Writer, length int64) error {
	_, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(length)))
	return err
}

// ReadFrame reads a frame of at most limit bytes. The error is io.EOF if there is no frame.
func ReadFrame(r io.Reader, limit uint32) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > limit {
		return nil, fmt.Errorf("a message of %d bytes is longer than %d", length, limit)
	}
	// The buffer grows with the bytes that arrive, whatever length promises.
	var data bytes.Buffer
	if _, err := io.CopyN(&data, r, int64(length)); err == io.EOF {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// Encode returns a message as JSON. Bytes of raw JSON in it stay as they are.
func Encode(message any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(message)
	return b.Bytes(), err
}
