package translate

import "github.com/pequod-io/pequod/internal/schema/shape"

// shared is a field that others are equal to, by its path from a struct.
type Shared struct {
	Path []string
	// items says that they are equal to its items.
	Items bool
}

// forget drops the defaults of the shared field and of those in it.
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
