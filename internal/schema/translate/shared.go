package translate

import "github.com/pequod-io/pequod/internal/schema/shape"

// Shared is a field that others are equal to.
type Shared struct {
	// Path is the path from the struct of the frame.
	Path []string
	// Items means that the others are equal to the items of the field.
	Items bool
}

// forget drops the defaults of the shared field and of all fields in it. An empty
// list is kept as the default if only its items are shared.
func forget(o *shape.Object, s Shared) {
	if o == nil {
		return
	}
	for i := range o.Fields {
		f := &o.Fields[i]
		if len(s.Path) > 0 && f.Name != s.Path[0] {
			continue
		}
		if len(s.Path) < 2 && !(s.Items && string(f.Default) == "[]") {
			f.Default = nil
		}
		for _, t := range f.Shape {
			forget(t.Object, Shared{s.Path[min(1, len(s.Path)):], s.Items})
		}
	}
}
