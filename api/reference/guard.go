package reference

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// CEL's cost limit counts what an evaluation traverses, and a few functions build
// results that are much larger: replacing each of 300,000 characters by as many
// would allocate 90 GB at once, and joining lists costs nothing but doubles them.
// The guards in this file refuse such results before they are built, and those in
// pattern.go large regular expressions.
const (
	// maxString is the maximum length of the result of a guarded function in bytes.
	maxString = 1 << 20
	// maxElements is the maximum length of a list that + yields.
	maxElements = 100_000
)

// refuseText returns a guard of a function that yields a text of a size.
func refuseText(name string, size func([]ref.Val) int) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		if size(args) > maxString {
			return types.NewErr("%s would yield more than %d bytes", name, maxString)
		}
		return nil
	}
}

// guardFunctions returns options that make the functions of env refuse to build
// large strings and to compile large regular expressions. A guard returns an error,
// or nil if the function may be called.
func guardFunctions(env *cel.Env) ([]cel.EnvOption, error) {
	var options []cel.EnvOption
	for name, refuse := range map[string]func([]ref.Val) ref.Val{
		"replace": refuseText("replace", replacedSize), "join": refuseText("join", joinedSize), "format": refuseText("format", formattedSize),
		"find": refusePattern, "findAll": refusePattern,
	} {
		function := env.Functions()[name]
		bindings, err := function.Bindings()
		if err != nil {
			return nil, fmt.Errorf("CEL function %s: %w", name, err)
		}
		byID := map[string]*functions.Overload{}
		for _, b := range bindings {
			byID[b.Operator] = b
		}
		for _, o := range function.OverloadDecls() {
			original := byID[o.ID()]
			if original == nil || !o.IsMemberFunction() {
				return nil, fmt.Errorf("CEL function %s: overload %s can't be guarded", name, o.ID())
			}
			options = append(options, cel.Function(name, cel.MemberOverload(o.ID(), o.ArgTypes(), o.ResultType(),
				cel.FunctionBinding(func(args ...ref.Val) ref.Val {
					if refused := refuse(args); refused != nil {
						return refused
					}
					return call(original, args)
				}))))
		}
	}
	return options, nil
}

// call calls an overload.
func call(o *functions.Overload, args []ref.Val) ref.Val {
	switch {
	case len(args) == 1 && o.Unary != nil:
		return o.Unary(args[0])
	case len(args) == 2 && o.Binary != nil:
		return o.Binary(args[0], args[1])
	}
	return o.Function(args...)
}

// replacedSize returns the size of s.replace(old, new) without its optional limit.
func replacedSize(args []ref.Val) int {
	s, _ := args[0].(types.String)
	from, _ := args[1].(types.String)
	to, _ := args[2].(types.String)
	return len(s) + strings.Count(string(s), string(from))*len(to)
}

// joinedSize returns the size of list.join(separator).
func joinedSize(args []ref.Val) int {
	separator := 0
	if len(args) > 1 {
		s, _ := args[1].(types.String)
		separator = len(s)
	}
	return valueSize(args[0], separator, maxString)
}

// precision matches precisions of format that yield more than 99 digits.
var precision = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%\.[0-9]{3}`) })

// formattedSize returns an upper bound of the size of text.format(list).
func formattedSize(args []ref.Val) int {
	text, _ := args[0].(types.String)
	if precision().MatchString(string(text)) {
		return maxString + 1
	}
	return len(text) + 2*valueSize(args[1], 128, maxString) // hexadecimal digits double
}

// valueSize returns the size of the strings in a value, and overhead for every
// element. It stops when the size exceeds most.
func valueSize(v ref.Val, overhead, most int) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	case traits.Mapper:
		total := 0
		for it := v.Iterator(); it.HasNext() == types.True && total <= most; {
			k := it.Next()
			total += overhead + valueSize(k, overhead, most-total)
			total += valueSize(v.Get(k), overhead, most-total)
		}
		return total
	case traits.Lister:
		total := 0
		for it := v.Iterator(); it.HasNext() == types.True && total <= most; {
			total += overhead + valueSize(it.Next(), overhead, most-total)
		}
		return total
	}
	return 0
}

// guardPlan limits the lists that + yields. Such a list refers to its two halves,
// so CEL builds one of any length at no cost, and then cannot be interrupted while
// it compares or converts it.
func guardPlan() cel.ProgramOption {
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		c, ok := i.(interpreter.InterpretableCall)
		switch {
		case ok && c.Function() == operators.Add:
			return &guardedAdd{c}, nil
		case ok && c.Function() == "matches":
			return guardMatches(c), nil
		}
		return i, nil
	})
}

// guardedAdd is a call of + with a limit.
type guardedAdd struct{ interpreter.InterpretableCall }

// Exec implements [interpreter.InterpretableV2].
func (g *guardedAdd) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return limited(g.InterpretableCall.Exec(frame))
}

// Eval implements [interpreter.Interpretable].
func (g *guardedAdd) Eval(vars interpreter.Activation) ref.Val {
	return limited(g.InterpretableCall.Eval(vars))
}

// limited returns v, or an error if it is too long a list.
func limited(v ref.Val) ref.Val {
	if list, ok := v.(traits.Lister); ok {
		if n, _ := list.Size().(types.Int); n > maxElements {
			return types.NewErr("+ would yield a list of %d elements; the limit is %d", int64(n), maxElements)
		}
	}
	return v
}
