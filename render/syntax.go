package render

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
	"go.yaml.in/yaml/v3"
)

// Small pieces of CUE syntax for data that came from YAML. Data enters
// evaluation as syntax because only syntax carries positions.

func stringLit(s string, pos token.Pos) *ast.BasicLit {
	return &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: literal.String.Quote(s)}
}

func boolLit(b bool, pos token.Pos) *ast.BasicLit {
	if b {
		return &ast.BasicLit{ValuePos: pos, Kind: token.TRUE, Value: "true"}
	}
	return &ast.BasicLit{ValuePos: pos, Kind: token.FALSE, Value: "false"}
}

// label is always quoted: data never becomes a hidden field or a definition.
func label(name string, pos token.Pos) ast.Label { return stringLit(name, pos) }

// number gives a plain YAML number in the form in which the API server would
// return it: an integer where the value is integral, the shortest decimal
// otherwise. It gives nil for octals, hexadecimals, infinities and the like, and
// for integers beyond 64 bits.
func number(s string) *ast.BasicLit {
	s = strings.TrimPrefix(s, "+")
	if plainInt.MatchString(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil
		}
		return &ast.BasicLit{Kind: token.INT, Value: strconv.FormatInt(n, 10)}
	}
	digits := strings.TrimPrefix(s, "-")
	if !plainFloat.MatchString(s) || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return &ast.BasicLit{Kind: token.INT, Value: strconv.FormatInt(int64(f), 10)}
	}
	return &ast.BasicLit{Kind: token.FLOAT, Value: strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "e+", "e", 1)}
}

// quoted says whether a scalar is a string by its style or its tag.
func quoted(n *yaml.Node) bool {
	const styles = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&styles != 0 && n.ShortTag() == "!!str" || n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!str"
}

// oldBool says whether YAML 1.1, which kubectl reads, takes a plain scalar for
// a boolean though YAML 1.2 doesn't.
func oldBool(s string) bool {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON",
		"n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return true
	}
	return false
}

func oldTrue(s string) bool {
	return oldBool(s) && (s[0] == 'y' || s[0] == 'Y' || strings.EqualFold(s, "on"))
}

// fieldName gives the name of a field whose label is a quoted string.
func fieldName(d ast.Decl) string {
	f, ok := d.(*ast.Field)
	if !ok {
		return ""
	}
	return labelName(f.Label)
}

func labelName(l ast.Label) string {
	name, _, err := ast.LabelName(l)
	if err != nil {
		return ""
	}
	return name
}

// field finds a field of a struct by name.
func field(s *ast.StructLit, name string) *ast.Field {
	if s == nil {
		return nil
	}
	for _, d := range s.Elts {
		if f, ok := d.(*ast.Field); ok && labelName(f.Label) == name {
			return f
		}
	}
	return nil
}

// text gives the value of a string literal.
func text(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := literal.Unquote(l.Value)
	return s, err == nil
}

// joinPath appends a field to a path the way kubectl writes it: a.b["c/d"].
func joinPath(path, name string) string {
	if !ast.IsValidIdent(name) || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
		if strings.ContainsAny(name, `.[]"/ `) || name == "" {
			return path + "[" + strconv.Quote(name) + "]"
		}
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// showPath writes the selectors of a CUE path like joinPath does.
func showPath(sels []cue.Selector) string {
	var path string
	for _, s := range sels {
		switch s.LabelType() {
		case cue.IndexLabel:
			path += "[" + strconv.Itoa(s.Index()) + "]"
		case cue.StringLabel:
			path = joinPath(path, s.Unquoted())
		default:
			path = joinPath(path, s.String())
		}
	}
	return path
}

// fieldsOf gives the fields of data.
func fieldsOf(s *ast.StructLit) []*ast.Field {
	fields := make([]*ast.Field, 0, len(s.Elts))
	for _, e := range s.Elts {
		fields = append(fields, e.(*ast.Field))
	}
	return fields
}

func structOf(fields []*ast.Field, more ...*ast.Field) *ast.StructLit {
	s := &ast.StructLit{}
	for _, f := range fields {
		s.Elts = append(s.Elts, f)
	}
	for _, f := range more {
		s.Elts = append(s.Elts, f)
	}
	return s
}

// without gives the fields that aren't among others.
func without(fields, others []*ast.Field) []*ast.Field {
	return filter(fields, func(f *ast.Field) bool { return !slices.Contains(others, f) })
}

func filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, x := range list {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

func itemOf(l *ast.ListLit, index string) ast.Expr {
	if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(l.Elts) {
		return l.Elts[i]
	}
	return nil
}

func indexPath(i int) string { return "[" + strconv.Itoa(i) + "]" }

// isIndex tells a list index among the elements of an error's path.
func isIndex(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

func unquoteLabel(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}
