package shards

import (
	"fmt"
	"math/big"
	"testing"

	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
)

// TestHash compares the shards with the ranges of the API server's hash, whose bounds are
// multiples of 2^64/count, rounded up.
func TestHash(t *testing.T) {
	bound := func(i, count int) string {
		b := new(big.Int).Lsh(big.NewInt(int64(i)), 64)
		b.Add(b, big.NewInt(int64(count-1))).Div(b, big.NewInt(int64(count)))
		return fmt.Sprintf("%017x", b)
	}
	for _, count := range []int{1, 2, 3, 4, 7, 16, 64} {
		sizes := make([]int, count)
		for i := range 2000 {
			uid := fmt.Sprintf("%08x-1c5d-4f7a-9d10-0123456789ab", i)
			shard := Of(types.UID(uid), count)
			sizes[shard]++
			if hash := "0" + sharding.HashField(uid); hash < bound(shard, count) || hash >= bound(shard+1, count) {
				t.Errorf("%s with hash %s is in shard %d of %d, [%s, %s)", uid, hash, shard, count, bound(shard, count), bound(shard+1, count))
			}
		}
		for shard, size := range sizes {
			if even := 2000 / count; size < even/2 || size > even*2 {
				t.Errorf("shard %d of %d has %d of 2000 objects", shard, count, size)
			}
		}
	}
	if bound(1, 2) != "08000000000000000" || bound(4, 4) != "10000000000000000" {
		t.Errorf("bounds %s, %s", bound(1, 2), bound(4, 4))
	}
}
