package artifact

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// SetMetadata returns a module file with the given kinds and images in its metadata. The kinds
// replace those in the file, and images that are missing are added. nil leaves a field as it
// is. All else stays, comments included, in the format of 'cue fmt'.
func SetMetadata(moduleFile []byte, kinds []Kind, images []string) ([]byte, error) {
	file, err := parser.ParseFile("module.cue", moduleFile, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	metadata, err := metadataIn(file)
	if err != nil {
		return nil, err
	}
	if kinds != nil {
		list, err := parser.ParseExpr("", KindsList(kinds))
		if err != nil {
			return nil, err
		}
		setField(metadata, "kinds", list)
	}
	if images != nil {
		if err := addImages(metadata, images); err != nil {
			return nil, err
		}
	}
	return format.Node(file)
}

// KindsList returns kinds as a list in CUE.
func KindsList(kinds []Kind) string {
	var all []string
	for _, k := range kinds {
		all = append(all, fmt.Sprintf("{group: %q, kind: %q, versions: %s}", k.Group, k.Kind, TextList(k.Versions)))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// TextList returns strings as a list in CUE.
func TextList(all []string) string {
	var q []string
	for _, s := range all {
		q = append(q, strconv.Quote(s))
	}
	return "[" + strings.Join(q, ", ") + "]"
}

// metadataIn returns the metadata of a module file, and adds the field if there is none.
func metadataIn(file *ast.File) (*ast.StructLit, error) {
	var custom *ast.StructLit
	for _, d := range file.Decls {
		value, err := structOf(d, "custom")
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		custom = value
		for _, d := range value.Elts {
			if metadata, err := structOf(d, metadataKey); err != nil || metadata != nil {
				return metadata, err
			}
		}
	}
	parsed, err := parser.ParseFile("", fmt.Sprintf("custom: %q: {\n}\n", metadataKey))
	if err != nil {
		return nil, err
	}
	added := parsed.Decls[0].(*ast.Field)
	if custom == nil {
		file.Decls = append(file.Decls, onNewLine(added))
		custom = added.Value.(*ast.StructLit)
	} else {
		brace(custom)
		custom.Elts = append(custom.Elts, onNewLine(added.Value.(*ast.StructLit).Elts[0]))
	}
	metadata, err := structOf(custom.Elts[len(custom.Elts)-1], metadataKey)
	if err != nil {
		return nil, err
	}
	return metadata, nil
}

// structOf returns the struct in a field if it has the given name, or nil.
func structOf(d ast.Decl, name string) (*ast.StructLit, error) {
	f, ok := d.(*ast.Field)
	if !ok || !named(f, name) {
		return nil, nil
	}
	value, ok := f.Value.(*ast.StructLit)
	if !ok {
		return nil, fmt.Errorf("%s is not a struct", name)
	}
	return value, nil
}

// named reports whether a field has the given name.
func named(f *ast.Field, name string) bool {
	label, _, err := ast.LabelName(f.Label)
	return err == nil && label == name
}

// fieldIn returns a field of a struct, or nil.
func fieldIn(s *ast.StructLit, name string) *ast.Field {
	for _, d := range s.Elts {
		if f, ok := d.(*ast.Field); ok && named(f, name) {
			return f
		}
	}
	return nil
}

// setField sets a field of a struct.
func setField(s *ast.StructLit, name string, value ast.Expr) {
	ast.SetRelPos(value, token.Blank)
	if f := fieldIn(s, name); f != nil {
		f.Value = value
		return
	}
	brace(s)
	s.Elts = append(s.Elts, onNewLine(&ast.Field{Label: ast.NewIdent(name), Value: value}))
}

// addImages adds those images to the metadata that it lacks. A list that has all stays as it
// is, and so does its order.
func addImages(metadata *ast.StructLit, images []string) error {
	f := fieldIn(metadata, "images")
	if f == nil {
		if len(images) > 0 {
			list, err := parser.ParseExpr("", TextList(images))
			if err != nil {
				return err
			}
			setField(metadata, "images", list)
		}
		return nil
	}
	list, ok := f.Value.(*ast.ListLit)
	if !ok {
		return fmt.Errorf("images is not a list")
	}
	var have []string
	for _, e := range list.Elts {
		if lit, ok := e.(*ast.BasicLit); ok {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				return fmt.Errorf("images: %s is not a string", lit.Value)
			}
			have = append(have, text)
		}
	}
	for _, image := range images {
		if slices.Contains(have, image) {
			continue
		}
		added := ast.NewString(image)
		position := token.Blank
		if n := len(list.Elts); n > 0 {
			position = list.Elts[n-1].Pos().RelPos()
			if n == 1 && position < token.Newline {
				position = token.Blank
			}
		}
		ast.SetRelPos(added, position)
		list.Elts = append(list.Elts, added)
	}
	return nil
}

// brace gives a struct braces, which one with a single field may lack.
func brace(s *ast.StructLit) {
	if !s.Lbrace.IsValid() {
		s.Lbrace, s.Rbrace = token.Blank.Pos(), token.Newline.Pos()
		for _, d := range s.Elts {
			onNewLine(d)
		}
	}
}

// onNewLine puts a field on a line of its own.
func onNewLine(d ast.Decl) ast.Decl {
	ast.SetRelPos(d, token.Newline)
	return d
}
