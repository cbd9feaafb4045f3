package read

import (
	"fmt"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// context holds what the reader knows about the position of the value that it
// reads, and the modes in which it reads. It is passed by value: a function
// that changes a mode for the parts of a value changes its own copy.
type context struct {
	// path is the field in messages, such as spec.ports[].name.
	path string
	// pos is the position of the field or reference that is being read. Notes
	// and errors use it if a value has no position of its own.
	pos token.Pos
	// enclosing are the keys of the literals that are being read, outermost
	// first. A literal that is read inside of itself is a recursion, which no
	// CRD can express.
	enclosing []string
	// frames are the structs that are being read, outermost first, and segments
	// the path from the root to the value.
	frames   []*translate.Frame
	segments []translate.Segment
	// closed means that structs are closed unless they end in an ellipsis, as
	// everything in a definition is.
	closed bool
	// open means that structs are open whatever they say. It overrides closed.
	open bool
	// closers are the closed values that the value is unified with, outside of its
	// own conjuncts.
	closers []closer
	// matching means that values will be matched against the shape, as matchN
	// does. A value that leaves something incomplete matches, so nothing is
	// required.
	matching bool
	// lenient means that the field is unified with a disjunction, so that CUE
	// doesn't reject it if it was computed from an absent field; see
	// cuefault.ForgottenReference.
	lenient bool
	// partial means that the value is one of several conjuncts, so that another may
	// give its parameters values.
	partial bool
	// guarded collects the parts of the source that hold only for some input.
	// Values from there are skipped. It is shared by all contexts that are made
	// from one another.
	guarded *[]syntax.Span
	// notes collects the notes.
	notes *problem.List
	// floats, if set, is set to true if the value admits floats only.
	floats *bool
}

// closer is a closed value that the value being read is unified with. If deep is
// set, as for a definition, the structs in it are closed, too.
type closer struct {
	cue.Value
	deep bool
}

// note adds a note about pos, or about the field that is being read if pos is
// unknown. format and args name the subject, such as "the choice between
// structs".
func (in context) note(pos token.Pos, format string, args ...any) {
	if !pos.IsValid() {
		pos = in.pos
	}
	in.put(shape.Unenforced(positionOf(pos), in.path, fmt.Sprintf(format, args...)))
}

// put adds notes.
func (in context) put(notes ...problem.Problem) { *in.notes = append(*in.notes, notes...) }

// noteOf returns the note that [context.note] would add.
func (in context) noteOf(pos token.Pos, format string, args ...any) problem.List {
	in, notes := in.capture()
	in.note(pos, format, args...)
	return *notes
}

// capture returns a context that collects its notes apart, and its notes. The
// caller reads a part on trial and then decides whether the notes count.
func (in context) capture() (context, *problem.List) {
	in.notes = &problem.List{}
	return in, in.notes
}

// across returns the context of a part of the value, one segment further. The
// closers of the part are the caller's to add.
func (in context) across(s translate.Segment) context {
	// A clone, because the contexts of siblings would share the array otherwise.
	in.segments = append(slices.Clone(in.segments), s)
	in.closers, in.partial = nil, false
	return in
}

// below returns the context with a longer path for messages.
func (in context) below(suffix string) context {
	in.path += suffix
	return in
}

// isGuarded reports whether n is in a part of the source that holds only for
// some input.
func (in context) isGuarded(n ast.Node) bool {
	if len(*in.guarded) == 0 || syntax.IsNil(n) {
		return false
	}
	return slices.ContainsFunc(*in.guarded, func(s syntax.Span) bool { return s.Contains(n.Pos()) })
}

// enter returns the context inside of the literals that key identifies. It fails
// the reader and reports false if they are being read already, because the value
// then contains itself, or if the schema is nested too deeply. An empty key, as
// references pass it, counts as a level but identifies no literal.
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

// maxDepth bounds the nesting of a schema. Recursion is detected when it
// closes; the bound is for schemas that grow without repeating themselves.
const maxDepth = 64

// reader reads one definition. After an error it returns [shape.Any] for
// everything and keeps the first error. It is used by one goroutine, for one call
// of [Value].
type reader struct {
	// input is the definition. Expressions are compiled in its scope.
	input cue.Value
	// err is the first error.
	err error
	// parameters are the definitions and hidden fields below the top level of their
	// file to which the definition gives a value that depends on input.
	parameters syntax.Parameters
	// taken are the values that were taken apart, by [reader.conjunctOf].
	taken map[cue.Value]conjunct
}

// fail keeps the first error.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
