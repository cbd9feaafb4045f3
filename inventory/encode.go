package inventory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Format is the version of the encoding. A reader refuses newer versions.
const Format = 1

// document is the encoded form of an inventory: JSON with the objects grouped by
// kind and namespace and one object per line, so that `kubectl get -o yaml` shows
// it as readable text and two versions can be compared line by line.
type document struct {
	header
	Objects []group `json:"objects"`
}

// header is the beginning of a document.
type header struct {
	Format    int    `json:"format"`
	Namespace string `json:"namespace"`
	Graph     string `json:"graph"`
	Revision  string `json:"revision,omitempty"`
	Complete  bool   `json:"complete,omitempty"`
	// Unsearched is not in older inventories.
	Unsearched []string `json:"unsearched,omitempty"`
}

// group has the objects of one kind and API version in one namespace.
type group struct {
	groupHeader
	Items []item `json:"items"`
}

// groupHeader identifies a group.
type groupHeader struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
}

// item is an [Entry] without the fields of its group.
type item struct {
	Name    string    `json:"name"`
	Node    string    `json:"node,omitempty"`
	Wave    int       `json:"wave,omitempty"`
	Orphan  bool      `json:"orphan,omitempty"`
	Create  bool      `json:"create,omitempty"`
	Done    bool      `json:"done,omitempty"`
	Manager string    `json:"manager,omitempty"`
	UID     types.UID `json:"uid,omitempty"`
	Desired string    `json:"desired,omitempty"`
	Live    string    `json:"live,omitempty"`
	// LeavingSince is nil instead of the zero time.
	LeavingSince *time.Time `json:"leavingSince,omitempty"`
}

// Encode returns the text of an inventory. The order of the entries does not
// matter: equal inventories have equal texts. [Decode] reads the text; Encode
// returns an error for an inventory that Decode would refuse.
func Encode(inv *Inventory) ([]byte, error) {
	if err := inv.check(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Write(open(header{Format, inv.Owner.Namespace, inv.Owner.Name, inv.Revision, inv.Complete, inv.Unsearched}))
	out.WriteString(`,"objects":[`)
	entries := slices.Clone(inv.Entries)
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.heading().compare(b.heading()), cmp.Compare(a.Wave, b.Wave), a.Key.Compare(b.Key))
	})
	for i, e := range entries {
		switch first := i == 0; {
		case first || e.heading() != entries[i-1].heading():
			if !first {
				out.WriteString("]},")
			}
			out.WriteString("\n")
			out.Write(open(e.heading()))
			out.WriteString(`,"items":[`)
		default:
			out.WriteString(",")
		}
		out.WriteString("\n")
		out.Write(marshal(item{e.Name, e.Node, e.Wave, e.Orphan, e.Create, e.Done, e.Manager, e.UID, e.Desired, e.Live, e.leavingSince()}))
	}
	if len(entries) > 0 {
		out.WriteString("]}")
	}
	out.WriteString("]}\n")
	return out.Bytes(), nil
}

// leavingSince returns LeavingSince, nil if it is zero.
func (e Entry) leavingSince() *time.Time {
	if e.LeavingSince.IsZero() {
		return nil
	}
	return &e.LeavingSince
}

// Seconds returns a time in UTC and whole seconds, the form of
// [Entry.LeavingSince]. Equal times of this form are equal with ==.
func Seconds(t time.Time) time.Time { return time.Unix(t.Unix(), 0).UTC() }

// heading returns the header of the group that the entry belongs to.
func (e Entry) heading() groupHeader {
	return groupHeader{e.Group, e.Version, e.Kind, e.Namespace}
}

func (h groupHeader) compare(other groupHeader) int {
	return cmp.Or(
		cmp.Compare(h.Group, other.Group), cmp.Compare(h.Kind, other.Kind),
		cmp.Compare(h.Version, other.Version), cmp.Compare(h.Namespace, other.Namespace),
	)
}

// open returns v as JSON without its closing brace.
func open(v any) []byte { return bytes.TrimSuffix(marshal(v), []byte("}")) }

// marshal returns v as JSON and leaves <, > and & unescaped.
func marshal(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		// Strings, numbers and booleans can always be encoded.
		panic(err) // strings, numbers and booleans can always be written
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
