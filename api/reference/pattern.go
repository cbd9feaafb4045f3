package reference

import (
	"regexp/syntax"
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// maxInstructions is the maximum size of a regular expression, and of all literal ones
// in an expression. Repetitions count as often as they are repeated: Go compiles ten
// characters that are repeated a thousand times to ten thousand instructions, of 40
// bytes each, and a match takes time in proportion to them.
const maxInstructions = 1000

// matching are the functions whose last text argument is a regular expression.
func matching(function string) bool {
	return function == "matches" || function == "find" || function == "findAll"
}

// checkPatterns returns the number of instructions of the literal regular expressions
// in an expression, and the problem if they must not be compiled.
func checkPatterns(tree *ast.AST) (total int, found problem.List) {
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !matching(e.AsCall().FunctionName()) || found != nil {
			return
		}
		for _, arg := range e.AsCall().Args() {
			if arg.Kind() != ast.LiteralKind {
				continue
			}
			text, _ := arg.AsLiteral().(types.String)
			if total += instructions(string(text)); total > maxInstructions {
				found = tooLarge("the regular expressions up to %s have %d instructions; the limit is %d",
					strconv.Quote(source.OneLine(string(text), 40)), total, maxInstructions)
			}
		}
	}))
	return total, found
}

// instructions returns the approximate number of instructions that a regular
// expression compiles to, and 0 for one that does not compile.
func instructions(pattern string) int {
	if len(pattern) > MaxLength {
		return len(pattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return instructionsOf(parsed)
}

func instructionsOf(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/2 // the characters of a literal, or the ranges of a class
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructionsOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// refusePattern returns an error if the second argument of a function is too large a
// regular expression, and nil otherwise.
func refusePattern(args []ref.Val) ref.Val {
	if text, ok := args[1].(types.String); ok && instructions(string(text)) > maxInstructions {
		return types.NewErr("a regular expression has more than %d instructions", maxInstructions)
	}
	return nil
}

// guardMatches returns a call of matches that refuses regular expressions that are
// too large. Literal ones are checked before, see [checkPatterns]. The function has
// no overload that could be replaced, as those of find can.
func guardMatches(c interpreter.InterpretableCall) interpreter.InterpretableCall {
	if args := c.Args(); len(args) == 2 {
		if _, literal := args[1].(interpreter.InterpretableConst); !literal {
			return interpreter.NewCall(c.ID(), c.Function(), c.OverloadID(), args, matches)
		}
	}
	return c
}

// matches implements the function matches with a guard.
func matches(args ...ref.Val) ref.Val {
	text, ok := args[0].(traits.Matcher)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	if refused := refusePattern(args); refused != nil {
		return refused
	}
	return text.Match(args[1])
}
