package reference

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	kubecel "k8s.io/apiserver/pkg/cel"
)

// Omitted is the result of an expression that yields optional.none(), as
// service.?spec.?externalName may. The caller leaves the field out. In lists and
// maps that an expression constructs, such entries are left out as well. It has
// no fields, so that results can be compared with it.
type Omitted struct{}

// MaxResult is the maximum size of the value of an expression in bytes: the length
// of its strings, and resultOverhead for each element of a list or map.
const MaxResult = 256 << 10

// resultOverhead is the size that is counted for each element of a list or map, in bytes.
const resultOverhead = 16

// plain converts a CEL value to the types of decoded JSON. The result is a copy.
// An error value inside of a list or map is returned as an error, so a refused
// value that an expression only passes along is refused, too. A value may be much
// larger than the memory that it takes in CEL, because parts of it are shared; it
// is an error if the copy exceeds [MaxResult].
func plain(v ref.Val) (any, error) {
	c := converter{left: MaxResult}
	return c.plain(v)
}

// converter converts one value.
type converter struct {
	left int // bytes that the rest of the value may have
}

// take counts bytes of the result.
func (c *converter) take(bytes int) error {
	if c.left -= bytes; c.left < 0 {
		return fmt.Errorf("yields more than %d bytes", MaxResult)
	}
	return nil
}

// plain is the function of the same name for a part of the value.
func (c *converter) plain(v ref.Val) (any, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.String:
		return string(v), c.take(len(v))
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if uint64(v) > math.MaxInt64 {
			return nil, fmt.Errorf("yields %d, which is too large for JSON", uint64(v))
		}
		return int64(v), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("yields %v, which JSON doesn't have", float64(v))
		}
		return float64(v), nil
	case *types.Optional:
		if !v.HasValue() {
			return Omitted{}, nil
		}
		return c.plain(v.GetValue())
	case traits.Mapper:
		return c.plainMap(v)
	case traits.Lister:
		return c.plainList(v)
	case types.Bytes:
		if err := c.take(len(v) * 4 / 3); err != nil {
			return nil, err
		}
	case *types.Err:
		return nil, refusalOr(v)
	}
	return text(v)
}

// text converts the values that Kubernetes writes as strings in JSON. The fields
// that such values are meant for accept the text: metav1.Duration parses 1m30s,
// and resource.Quantity 100Mi.
func text(v ref.Val) (any, error) {
	switch v := v.(type) {
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), nil
	case types.Timestamp:
		return v.Time.UTC().Format(time.RFC3339Nano), nil
	case types.Duration:
		return v.Duration.String(), nil
	case kubecel.Quantity:
		return v.Quantity.String(), nil
	case *kubecel.Quantity: // the result type of its arithmetic
		return v.Quantity.String(), nil
	case kubecel.IP:
		return v.Addr.String(), nil
	case kubecel.CIDR:
		return v.Prefix.String(), nil
	case kubecel.URL:
		return v.URL.String(), nil
	case kubecel.Semver:
		return v.Version.String(), nil
	}
	return nil, fmt.Errorf("yields %s, which can't stand in an object", article(v.Type().TypeName()))
}

// plainMap converts a map; its keys must be strings.
func (c *converter) plainMap(m traits.Mapper) (any, error) {
	size, _ := m.Size().(types.Int)
	if err := c.take(resultOverhead * int(min(size, MaxResult))); err != nil {
		return nil, err
	}
	out := make(map[string]any, int(size))
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		key, ok := k.(types.String)
		if !ok {
			return nil, fmt.Errorf("yields a map with %s as key; objects have strings", article(k.Type().TypeName()))
		}
		if err := c.take(len(key)); err != nil {
			return nil, err
		}
		value, err := c.plain(m.Get(k))
		if err != nil {
			return nil, err
		}
		if value != (Omitted{}) {
			out[string(key)] = value
		}
	}
	return out, nil
}

// plainList converts a list.
func (c *converter) plainList(l traits.Lister) (any, error) {
	size, ok := l.Size().(types.Int)
	if !ok {
		return nil, errors.New("yields a list without size")
	}
	if err := c.take(resultOverhead * int(min(size, MaxResult))); err != nil {
		return nil, err
	}
	out := make([]any, 0, int(size))
	for i := range size {
		value, err := c.plain(l.Get(i))
		if err != nil {
			return nil, err
		}
		if value != (Omitted{}) {
			out = append(out, value)
		}
	}
	return out, nil
}

// refusalOr returns the *[Refusal] in err, or err.
func refusalOr(err error) error {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return err
}
