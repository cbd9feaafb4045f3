package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Decode reads what [Encode] wrote. The text may have been edited by hand, so
// nothing is taken for granted: Decode returns an error rather than an inventory
// with fewer entries, because objects without an entry would never be pruned.
func Decode(text []byte) (*Inventory, error) {
	// The format is checked first, since a newer format may differ in every other
	// field.
	var version struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fmt.Errorf("not an inventory: %w", atLine(text, err))
	}
	switch {
	case version.Format == nil:
		return nil, errors.New(`not an inventory: "format" is missing`)
	case *version.Format > Format:
		return nil, fmt.Errorf("format %d: written by a newer pequod, this one reads up to format %d", *version.Format, Format)
	case *version.Format < 1:
		return nil, fmt.Errorf("format %d does not exist", *version.Format)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var doc document
	if err := decoder.Decode(&doc); err != nil {
		return nil, atLine(text, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the end of the inventory")
	}
	inv, err := doc.inventory()
	if err != nil {
		return nil, err
	}
	return inv, nil
}

// inventory converts the document to an inventory and checks it.
func (doc document) inventory() (*Inventory, error) {
	inv := &Inventory{
		Owner:      Owner{doc.Namespace, doc.Graph},
		Revision:   doc.Revision,
		Complete:   doc.Complete,
		Unsearched: doc.Unsearched,
	}
	if doc.Objects == nil {
		return nil, errors.New(`"objects" is missing`)
	}
	for _, g := range doc.Objects {
		if g.Items == nil {
			return nil, fmt.Errorf(`objects of kind %q: "items" is missing`, g.Kind)
		}
		for _, o := range g.Items {
			entry := Entry{
				Key:     Key{g.Group, g.Kind, g.Namespace, o.Name},
				Version: g.Version, UID: o.UID,
				Node: o.Node, Wave: o.Wave, Orphan: o.Orphan, Create: o.Create, Done: o.Done, Manager: o.Manager,
				Desired: o.Desired, Live: o.Live,
			}
			if o.LeavingSince != nil {
				entry.LeavingSince = Seconds(*o.LeavingSince)
			}
			inv.Entries = append(inv.Entries, entry)
		}
	}
	Sort(inv.Entries)
	return inv, inv.check()
}

// check returns an error if the inventory violates an invariant. It runs before
// every write and after every read.
func (inv *Inventory) check() error {
	if inv.Owner.Namespace == "" || inv.Owner.Name == "" {
		return errors.New("namespace or name of the graph is missing")
	}
	seen := make(map[Key]bool, len(inv.Entries))
	for _, e := range inv.Entries {
		switch {
		case e.Kind == "" || e.Name == "":
			return fmt.Errorf("%q: kind or name is missing", e.Key)
		case e.Wave < 0:
			return fmt.Errorf("%s: wave %d is negative", e.Key, e.Wave)
		case seen[e.Key]:
			return fmt.Errorf("%s: listed twice", e.Key)
		}
		seen[e.Key] = true
	}
	return nil
}

// atLine adds the line number to an error of the JSON decoder, if the error has
// an offset.
func atLine(text []byte, err error) error {
	line := func(offset int64) int {
		return 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n"))
	}
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", line(syntax.Offset), err)
	case errors.As(err, &mistyped):
		return fmt.Errorf("line %d: unexpected %s", line(mistyped.Offset), mistyped.Value)
	default:
		return err
	}
}
