package shape

import (
	"bytes"
	"math/big"
)

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
