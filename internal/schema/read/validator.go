package read

import (
	"math/big"
	"regexp"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// validator returns the term for the builtin called name with one argument.
// Without an argument it returns the values that the builtin can be applied to.
// It knows the builtins that a schema can express, and reports false for all
// others, and for arguments that are neither natural numbers nor strings.
func validator(name string, arg *shape.Literal) (shape.Term, bool) {
	// n and patterns are the argument as a bound, and in a regular expression.
	var n *int64
	pattern := func(before, after string) (patterns []string) {
		if arg != nil && arg.String != nil {
			patterns = []string{before + regexp.QuoteMeta(*arg.String) + after}
		}
		return patterns
	}
	if arg != nil && arg.Number != nil && arg.Number.IsInt() && arg.Number.Num().IsInt64() && arg.Number.Sign() >= 0 {
		n = new(arg.Number.Num().Int64())
	}
	t := shape.Term{Kind: shape.StringKind}
	switch name {
	case "strings.MinRunes":
		t.Strings.Min = n
	case "strings.MaxRunes":
		t.Strings.Max = n
	case "strings.HasPrefix":
		t.Strings.Patterns = pattern("^", "")
	case "strings.HasSuffix":
		t.Strings.Patterns = pattern("", "$")
	case "strings.Contains":
		t.Strings.Patterns = pattern("", "")
	case "list.MinItems":
		t = shape.Term{Kind: shape.ListKind, List: &shape.List{Rest: shape.Any(), Min: n}}
	case "list.MaxItems":
		t = shape.Term{Kind: shape.ListKind, List: &shape.List{Rest: shape.Any(), Max: n}}
	case "struct.MinFields":
		t = shape.Term{Kind: shape.StructKind, Object: &shape.Object{Open: true, Min: n}}
	case "struct.MaxFields":
		t = shape.Term{Kind: shape.StructKind, Object: &shape.Object{Open: true, Max: n}}
	case "math.MultipleOf":
		t.Kind = shape.NumberKind
		if arg != nil && (arg.Number == nil || arg.Number.Sign() <= 0) {
			return shape.Term{}, false
		} else if arg != nil {
			t.Numbers.Multiples = []*big.Rat{arg.Number}
		}
		return t, true
	default:
		return shape.Term{}, false
	}
	return t, arg == nil || n != nil || arg.String != nil
}

// builtin returns the values of the given kinds that the builtin called name,
// which takes no argument, admits. It reports false for builtins that it doesn't
// know.
func builtin(name string, kinds shape.Kind) (shape.Shape, bool) {
	if name == "list.UniqueItems" {
		return shape.Shape{{Kind: shape.ListKind, List: &shape.List{Rest: shape.Any(), Unique: true}}}, true
	}
	f, ok := shape.FormatOf(name)
	return shape.OfFormat(f, kinds), ok
}
