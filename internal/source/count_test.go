package source

import "testing"

func TestInClusters(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, test := range []struct {
		in, all []string
		want    string
	}{
		{all, all, "in 8 of 8 clusters"},
		{all[2:3], all, "in 1 of 8 clusters (c)"},
		{all[:3], all, "in 3 of 8 clusters (a, b, c)"},
		{all[:4], all, "in 4 of 8 clusters"},
		{all[3:], all, "in 5 of 8 clusters (not a, b, c)"},
		{all[1:], all, "in 7 of 8 clusters (not a)"},
	} {
		if got := InClusters(test.in, test.all); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
