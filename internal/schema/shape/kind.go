package shape

import (
	"bytes"
	"math/big"
	"math/bits"
)

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

// Literal is one scalar value.
type Literal struct {
	// JSON is the value as written in JSON.
	JSON []byte
	// Number is the exact value of a number, and String that of a string; both
	// are nil for other kinds.
	Number *big.Rat
	String *string
}

// equal compares numbers by value, so that 1 equals 1.0.
func (l Literal) equal(m Literal) bool {
	if l.Number != nil && m.Number != nil {
		return l.Number.Cmp(m.Number) == 0
	}
	return bytes.Equal(l.JSON, m.JSON)
}
