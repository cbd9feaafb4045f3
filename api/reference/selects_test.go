package reference

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelects(t *testing.T) {
	for _, test := range []struct {
		expr string
		want []string
	}{
		{"1", nil},
		{"service", []string{"service"}},
		{"service.spec.ports[0].port + db.x", []string{"service.spec.ports[0].port", "db.x"}},
		{"nodes['a.b'].data['x.y']", []string{`["a.b"].data["x.y"]`}},
		{"has(db.data.key) && has(nodes.service)", []string{"db.data"}},
		{"db.?data.?key.orValue('')", []string{"db.data.key"}},
		{"db.data[service.key].x", []string{"db.data", "service.key"}},
		{"db.data.map(k, db.data[k] + service.x)", []string{"db.data", "db.data", "service.x"}},
		{"size(db.data)", []string{"db.data"}},
	} {
		t.Run(test.expr, func(t *testing.T) {
			compiled, issues := NewNodeSet(graphIDs).Compile(test.expr, nil)
			if len(issues) > 0 {
				t.Fatal(issues)
			}
			var got []string
			for _, path := range compiled.Selects() {
				got = append(got, path.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
