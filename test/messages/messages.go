// Package messages checks the errors that tell users of a failure of another side: git, a registry
// or Kubernetes.
//
// Each room that rewrites such errors has a table of real failures. [Check] holds for a row that
// the message keeps the other side's words and ends with a next step, and [Covered] that every
// text of the functions that rewrite errors occurs in a row. TestRewriters in test/tree lists
// these functions' files.
package messages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// step matches the beginning of a next step: what the user is told to do.
var step = regexp.MustCompile(`^(\$KUBECONFIG names it: mend|add|allow|apply|ask|change|check|choose|compare|correct|create|delete|did you mean|get|give|grant|install|key|log in|mend|name|publish|push|raise|remove|rename|renew|run|see|set|sign|start|there are:|try again|use|wait|want|write) ?|^To add an exception|^if the remote repository has it, fetch|^commit|^refer to|^this clone is (shallow|a partial one): run`)

// Check reports an error unless err keeps said, the words of the other side, and ends with next,
// which tells what to do.
func Check(t *testing.T, err error, said, next string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("no error; want one with %q", said)
	case said == "" || !strings.Contains(err.Error(), said):
		t.Errorf("the message lacks the words of the other side, %q:\n%v", said, err)
	case !step.MatchString(next):
		t.Errorf("no next step: %q", next)
	case !strings.HasSuffix(err.Error(), "; "+next):
		t.Errorf("the message doesn't end with the next step, %q:\n%v", next, err)
	case strings.Contains(err.Error(), "\n"):
		t.Errorf("several lines:\n%v", err)
	}
}

// verb matches the verbs of formats.
var verb = regexp.MustCompile(`%[+#]?[a-z]`)

// minText is the length of texts that [Covered] looks for. Shorter ones are names and separators.
const minText = 12

// Covered reports an error for each text in the named functions and variables of a file that no
// message has. It ignores the arguments of functions that recognize errors. except are texts that no test can provoke.
func Covered(t *testing.T, file string, names, messages []string, except ...string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(messages, "\n")
	for _, name := range names {
		declared := find(parsed, name)
		if declared == nil {
			t.Errorf("%s has no %s", file, name)
			continue
		}
		ast.Inspect(declared, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && recognizes(call) {
				return false
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range verb.Split(text, -1) {
				if part = strings.Trim(part, " :;,"); len(part) >= minText && !strings.Contains(all, part) && !slices.Contains(except, part) {
					t.Errorf("%s, %s: no test has a failure with %q", file, name, part)
				}
			}
			return true
		})
	}
}

// find returns the declarations of a name in a file: functions, methods, variables. It returns nil
// if there are none.
func find(file *ast.File, name string) ast.Node {
	found := &ast.BlockStmt{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == name {
				found.List = append(found.List, d.Body)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && v.Names[0].Name == name {
					found.List = append(found.List, &ast.DeclStmt{Decl: &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{v}}})
				}
			}
		}
	}
	if found.List == nil {
		return nil
	}
	return found
}

// recognizes reports whether a call is one of a function that compares texts.
func recognizes(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	return f.Sel.Name == "Supports" || ok && slices.Contains([]string{"strings", "bytes", "apierrors"}, pkg.Name)
}
