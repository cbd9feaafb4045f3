package resolve

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pequod-io/pequod/api/reference"
)

// Limits of the references of one graph.
const (
	// MaxCost is the maximum cost of all expressions of a graph, in CEL's units: as
	// much as the API server allows all validation rules for one object, which is
	// about a second.
	MaxCost = 10_000_000
	// MaxBytes is the maximum size of all values of a graph's references in bytes.
	MaxBytes = 2 << 20
	// sliceCost is the cost from which on no further expression is evaluated before
	// BeginStep.
	sliceCost = 500_000
)

// ErrLater is returned for a reference that isn't evaluated now because the graph
// has used up its time. It passes with [Resolver.BeginStep].
var ErrLater = errors.New("the expressions of the graph are evaluated step by step, because they are expensive")

// BudgetError is returned if the references of the graph exceed a limit.
type BudgetError struct{ Message string }

func (e *BudgetError) Error() string { return e.Message }

// budget counts the effort of a resolver.
type budget struct {
	// slice is the cost of the evaluations since BeginStep.
	slice uint64
	// cost is the cost of all values that are known.
	cost uint64
	// known is the size of the values that are known in bytes.
	known int
	// sizes are the sizes of the values in each node, and bytes is their sum.
	sizes map[int]int
	bytes int
}

// knownKey identifies the value of an expression. Where values of Secrets may not
// be read, refusal is the message of the error, which depends on the place.
type knownKey struct{ expr, refusal string }

// known is the result of an expression.
type known struct {
	// versions identifies the objects that were read.
	versions string
	value    any
	err      error
	cost     uint64
	size     int
}

// Unversioned declares that objects change without a new version, as in a plan,
// so that values can't be remembered.
func (r *Resolver) Unversioned() { r.unversioned = true }

// BeginStep allows further evaluations. It returns the cost of those since the
// last call.
func (r *Resolver) BeginStep() uint64 {
	spent := r.budget.slice
	r.budget.slice = 0
	return spent
}

// Spent returns the cost of the evaluations since BeginStep.
func (r *Resolver) Spent() uint64 { return r.budget.slice }

// Spend adds the cost of other expressions of the graph, such as those of readiness
// checks, to the evaluations since BeginStep.
func (r *Resolver) Spend(cost uint64) { r.budget.slice += cost }

// Exhausted reports whether nothing more is to be evaluated before BeginStep.
func (r *Resolver) Exhausted() bool { return r.budget.slice >= sliceCost }

// value evaluates an expression over data, unless its value is known. Versions
// identifies the objects in data; it is empty if they have no versions.
func (r *Resolver) value(e *reference.Expression, at position, data map[string]any, versions string) (any, error) {
	key := knownKey{expr: e.String()}
	if !at.secrets {
		key.refusal = at.refusal
	}
	before := r.known[key]
	if versions != "" && before.versions == versions && !r.unversioned {
		return before.value, before.err
	}
	if r.Exhausted() {
		return nil, ErrLater
	}
	if rest := r.budget.cost - before.cost; rest >= MaxCost {
		return nil, &BudgetError{fmt.Sprintf("the expressions of the graph exceed the cost limit of %d: those evaluated before this one cost %d", MaxCost, rest)}
	}
	program, err := e.Plan()
	if err != nil {
		return nil, err
	}
	now := known{versions: versions}
	now.value, now.cost, now.err = program.Measure(data)
	now.size = sizeOf(now.value)
	if size := r.budget.known - before.size + now.size; size > MaxBytes {
		return nil, valuesTooLarge(size)
	}
	r.known[key] = now
	r.budget.slice += now.cost + e.CompileCost() // its program may have been dropped
	r.budget.cost += now.cost - before.cost
	r.budget.known += now.size - before.size
	return now.value, now.err
}

// version identifies the state of a live object, or is empty if the object has no
// version.
func version(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	version, _ := metadata["resourceVersion"].(string)
	if version == "" {
		return ""
	}
	return uid + "/" + version
}

func valuesTooLarge(size int) error {
	return &BudgetError{fmt.Sprintf("the values of the graph's late references are %d bytes; the limit is %d", size, MaxBytes)}
}

// reserve records the size of the values in node i.
func (r *Resolver) reserve(i int, values []any) error {
	size := 0
	for _, v := range values {
		size += sizeOf(v)
	}
	r.budget.bytes += size - r.budget.sizes[i]
	r.budget.sizes[i] = size
	if r.budget.bytes > MaxBytes {
		return valuesTooLarge(r.budget.bytes)
	}
	return nil
}

// sizeOf returns the size of a decoded JSON value in bytes, with 16 bytes for
// everything that isn't a string.
func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case map[string]any:
		size := 16
		for key, value := range v {
			size += len(key) + sizeOf(value)
		}
		return size
	case []any:
		size := 16
		for _, value := range v {
			size += sizeOf(value)
		}
		return size
	}
	return 16
}

// Size returns the size of a live object, as far as it may be read.
func Size(object map[string]any) int { return sizeOf(object) }

// ownCopy returns a value that the caller may change.
func ownCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, value := range v {
			c[key] = ownCopy(value)
		}
		return c
	case []any:
		c := slices.Clone(v)
		for i := range c {
			c[i] = ownCopy(c[i])
		}
		return c
	}
	return v
}
