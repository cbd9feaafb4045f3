package shape

import "math/bits"

// Kind is a set of the kinds of JSON values, one bit per kind. The zero value
// is [BottomKind], the empty set.
type Kind uint16

// The kinds. NumberKind contains IntKind, as every integer is a number.
// BytesKind occurs only in what CUE asks for: JSON writes bytes as strings.
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
	// TopKind stands for any value at all. It has one bit more than all kinds
	// together, so that it differs from their union.
	TopKind Kind = 1<<9 - 1
)

// JSONKinds returns the kinds that a schema tells apart, except null. Integers and
// numbers are one of them.
func JSONKinds() []Kind {
	return []Kind{BoolKind, NumberKind, StringKind, ListKind, StructKind}
}

// IsMixed reports whether kinds are of more than one JSON type. Integers and
// numbers count as one.
func IsMixed(kinds Kind) bool {
	return bits.OnesCount16(uint16(kinds&^NumberKind)) > 1 || kinds&NumberKind != 0 && kinds&^NumberKind != 0
}
