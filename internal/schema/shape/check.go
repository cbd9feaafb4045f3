package shape

import "slices"

// check is a demand on a value that counts which shapes it is in: matchN, or
// matchIf with the shapes if, then and else.
type Check struct {
	Shapes []Shape
	// count is how many of the shapes the value must be in.
	Count Numbers
	// branch says that the check is a matchIf.
	Branch bool
	// text is the check in CUE's words.
	Text string
}

func (c Check) equal(d Check) bool {
	return c.Text == d.Text && slices.EqualFunc(c.Shapes, d.Shapes, Shape.Equal)
}

// checksOf are the checks of all terms.
func ChecksOf(s Shape) []Check {
	var out []Check
	for _, t := range s {
		out = append(out, t.Checks...)
	}
	return out
}

// unchecked is s without its checks.
func WithoutChecks(s Shape) Shape {
	out := slices.Clone(s)
	for i := range out {
		out[i].Checks = nil
	}
	return out
}

// scalar is s if it is all of scalars, else anything: the structs and lists that
// are matched against are never the whole value.
func (s Shape) Scalar() Shape {
	if len(s) == 0 || KindsOf(s)&(ListKind|StructKind) != 0 {
		return Any()
	}
	return s
}
