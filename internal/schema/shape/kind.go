package shape

import "math/bits"

// Kind is a set of the kinds of JSON values.
type Kind uint16

// The kinds. NumberKind contains IntKind; TopKind contains every kind.
const (
	NullKind Kind = 1 << iota
	BoolKind
	IntKind
	FloatKind
	StringKind
	BytesKind
	ListKind
	StructKind

	BottomKind Kind = 0
	NumberKind      = IntKind | FloatKind
	// TopKind has one bit more than all kinds together, so that it differs from their union.
	TopKind Kind = 1<<9 - 1
)

// termKinds are the kinds besides numbers, in the order of a shape's terms.
func termKinds() []Kind {
	return []Kind{BoolKind, StringKind, ListKind, StructKind, NullKind}
}

// isMixed says whether kinds are of more than one JSON type.
func IsMixed(kinds Kind) bool {
	return bits.OnesCount16(uint16(kinds&^NumberKind)) > 1 || kinds&NumberKind != 0 && kinds&^NumberKind != 0
}
