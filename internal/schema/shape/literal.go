package shape

import (
	"bytes"
	"math/big"
)

// literal is one scalar value.
type Literal struct {
	Json []byte
	// number and string hold the value of a number and of a string.
	Number *big.Rat
	String *string
}

func (l Literal) equal(m Literal) bool {
	if l.Number != nil && m.Number != nil {
		return l.Number.Cmp(m.Number) == 0
	}
	return bytes.Equal(l.Json, m.Json)
}
