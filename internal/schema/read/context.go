package read

import (
	"fmt"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// context is what the reader knows about the position of the value that it reads. It is passed by value.
type context struct {
	// path is the field.
	path string
	// pos is the field or the reference that is being read.
	pos token.Pos
	// enclosing are the literals that are being read, from the outside in.
	enclosing []string
	// frames are the structs that are being read, segments what led to here.
	frames   []*translate.Frame
	segments []translate.Segment
	// closed says that structs are closed unless they end in an ellipsis, as
	// everything in a definition is.
	closed bool
	// open says that structs are open, whatever they say.
	open bool
	// matching says that a shape is read to be matched against, so that what it
	// leaves incomplete is not required.
	matching bool
	// lenient says that the field that is being read is unified with a
	// disjunction. CUE v0.17.1 then forgets that another part of it was computed
	// from what isn't there.
	lenient bool
	// guarded are the parts of the source that hold only for some input.
	guarded *[]syntax.Span
	// notes takes the notes.
	notes *problem.List
	// floats, if set, is set to true where only floats are admitted.
	floats *bool
}

// note adds a note at pos, or at the field that is being read if pos is unknown.
func (in context) note(pos token.Pos, format string, args ...any) {
	if !pos.IsValid() {
		pos = in.pos
	}
	in.put(shape.Unenforced(positionOf(pos), in.path, fmt.Sprintf(format, args...)))
}

// put adds notes.
func (in context) put(notes ...problem.Problem) { *in.notes = append(*in.notes, notes...) }

// noteOf is the note that note would add.
func (in context) noteOf(pos token.Pos, format string, args ...any) problem.List {
	in, notes := in.capture()
	in.note(pos, format, args...)
	return *notes
}

// capture returns a context with notes of its own.
func (in context) capture() (context, *problem.List) {
	in.notes = &problem.List{}
	return in, in.notes
}

// across is the context one segment further.
func (in context) across(s translate.Segment) context {
	in.segments = append(slices.Clone(in.segments), s)
	return in
}

// item is the context of the items of a list.
func (in context) below(suffix string) context {
	in.path += suffix
	return in
}

// isGuarded says whether n lies in a part of the source that holds only for
// some input.
func (in context) isGuarded(n ast.Node) bool {
	if len(*in.guarded) == 0 || syntax.IsNil(n) {
		return false
	}
	return slices.ContainsFunc(*in.guarded, func(s syntax.Span) bool { return s.Contains(n.Pos()) })
}

// enter notes that the literals named by key are being read. It reports false if they already are: then the
// value contains itself.
func (r *reader) enter(in context, key string) (context, bool) {
	if key != "" && slices.Contains(in.enclosing, key) {
		r.fail(errors.Newf(in.pos, "%s: the schema contains itself: recursive definitions have no CRD", in.path))
		return in, false
	}
	if len(in.enclosing) >= maxDepth {
		r.fail(errors.Newf(in.pos, "%s: the schema is nested deeper than %d levels", in.path, maxDepth))
		return in, false
	}
	in.enclosing = append(slices.Clone(in.enclosing), key)
	return in, true
}
