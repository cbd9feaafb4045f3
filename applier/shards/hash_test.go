package shards

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	parser "k8s.io/apiserver/pkg/sharding"
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
		// The selector of every second shard and the last two.
		var some []int
		for shard := range count {
			if shard%2 == 0 || shard >= count-2 {
				some = append(some, shard)
			}
		}
		selector, err := parser.Parse(selector(some, count))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2000 {
			uid := fmt.Sprintf("%08x-1c5d-4f7a-9d10-0123456789ab", i)
			selected, err := selector.Matches(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}})
			if want := slices.Contains(some, Of(types.UID(uid), count)); err != nil || selected != want {
				t.Errorf("%s in shard %d of %d is selected by %s: %t, %v", uid, Of(types.UID(uid), count), count, selector, selected, err)
			}
		}
		// The buckets without an object of these shards.
		r := &Replica{Options: Options{Count: count}}
		without := r.Without(some)
		for i := range 2000 {
			uid := types.UID(fmt.Sprintf("%08x-1c5d-4f7a-9d10-0123456789ab", i))
			if slices.Contains(without, Bucket(uid)) && slices.Contains(some, Of(uid, count)) {
				t.Errorf("%s in shard %d of %d is in bucket %s, which has none of %v", uid, Of(uid, count), count, Bucket(uid), some)
			}
		}
		if most := buckets - len(some)*buckets/count; len(without) > most || len(without) < most-2*len(some) {
			t.Errorf("shards %v of %d have none of %d buckets; want about %d", some, count, len(without), most)
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
	for want, shards := range map[string][]int{
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')": {0, 1, 2, 3},
		"shardRange(object.metadata.uid, '0x4000000000000000', '0xc000000000000000')":  {1, 2},
		"": nil,
	} {
		if got := selector(shards, 4); got != want {
			t.Errorf("shards %v: %s; want %s", shards, got, want)
		}
	}
}
