package shape

import "slices"

// Check is a constraint that counts the shapes that a value is in. It stands
// for matchN, and for matchIf with the shapes if, then and else. No OpenAPI
// schema can express it.
type Check struct {
	// Shapes are the shapes that the value is compared with. For matchIf they
	// are exactly three.
	Shapes []Shape
	// Count constrains the number of Shapes that admit the value. It is unused
	// for matchIf.
	Count Numbers
	// Branch reports that the check is a matchIf.
	Branch bool
	// Text is the check in CUE syntax, for messages.
	Text string
}

// equal compares the texts first: two checks with one text may still differ in
// what their references stand for.
func (c Check) equal(d Check) bool {
	return c.Text == d.Text && slices.EqualFunc(c.Shapes, d.Shapes, Shape.Equal)
}

// ChecksOf returns the checks of all terms of s, without repetitions.
func ChecksOf(s Shape) []Check {
	var out []Check
	for _, t := range s {
		for _, c := range t.Checks {
			if !slices.ContainsFunc(out, c.equal) {
				out = append(out, c)
			}
		}
	}
	return out
}

// WithoutChecks returns s without its checks: the part of s that an OpenAPI
// schema can declare.
func WithoutChecks(s Shape) Shape {
	out := slices.Clone(s)
	for i := range out {
		out[i].Checks = nil
	}
	return out
}

// OfWhole returns s with the structs and lists in it widened to all of their
// kind. A check compares a value with shapes that need not describe the whole
// value, so that structs and lists among them bound nothing but the kind.
func (s Shape) OfWhole() Shape {
	var out Shape
	for _, t := range s {
		if t.Kind&(ListKind|StructKind) != 0 && t.Kind != TopKind {
			out = append(out, OfKinds(t.Kind)...)
		} else {
			out = append(out, t)
		}
	}
	return Union(out)
}

// Scalar returns s if s holds scalars only, and [Any] otherwise. A check
// compares a value with shapes that need not describe the whole value, so that
// structs and lists among them bound nothing.
func (s Shape) Scalar() Shape {
	if len(s) == 0 || KindsOf(s)&(ListKind|StructKind) != 0 {
		return Any()
	}
	return s
}
