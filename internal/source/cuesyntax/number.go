package cuesyntax

import (
	"math"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

var (
	// decimalInteger matches integers that every YAML parser reads as the same
	// decimal number.
	decimalInteger = lazyregexp.New(`^[-+]?(0|[1-9][0-9]*)$`)
	// decimalFloat does the same for floats. All parsers accept .5 and 5. too.
	decimalFloat = lazyregexp.New(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// IsDecimalInteger reports whether every YAML parser reads s as the same
// decimal integer. It may need more than 64 bits.
func IsDecimalInteger(s string) bool { return decimalInteger().MatchString(s) }

// Number returns a YAML number as the API server would return it from storage:
// as an integer if the value is integral, else as the shortest decimal. So an
// instance renders the same from a file and from a cluster.
//
// Number returns nil for octal and hexadecimal numbers, infinities and other
// forms that YAML parsers read differently, and for integers of more than 64
// bits.
func Number(s string) *ast.BasicLit {
	s = strings.TrimPrefix(s, "+")
	if decimalInteger().MatchString(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil
		}
		return &ast.BasicLit{Kind: token.INT, Value: strconv.FormatInt(n, 10)}
	}
	digits := strings.TrimPrefix(s, "-")
	if !decimalFloat().MatchString(s) || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	// Above 2^53 a float64 does not hold every integer.
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return &ast.BasicLit{Kind: token.INT, Value: strconv.FormatInt(int64(f), 10)}
	}
	return &ast.BasicLit{Kind: token.FLOAT, Value: strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "e+", "e", 1)}
}
