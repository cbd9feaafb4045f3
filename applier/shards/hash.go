package shards

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
)

// Of returns the shard of an object, between 0 and count-1. The shards are count equal ranges of
// the 64-bit FNV-1a hash of the UID, so they are those of the selector
//
//	shardRange(object.metadata.uid, '0x…', '0x…')
//
// of sharded lists and watches (KEP-5866), see ShardSelector in the ListOptions of the API.
func Of(uid types.UID, count int) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(uid)) // never fails
	shard, _ := bits.Mul64(hash.Sum64(), uint64(count))
	return int(shard)
}

// buckets is the number of buckets, into which objects are divided whatever the number of shards is.
const buckets = 64

// Bucket returns the bucket of an object as the value of a label.
func Bucket(uid types.UID) string { return strconv.Itoa(Of(uid, buckets)) }

// Without returns the buckets that have no object of the shards.
func (r *Replica) Without(shards []int) []string {
	var without []string
	for bucket := range buckets {
		if !slices.ContainsFunc(shards, func(shard int) bool { return bucket*r.Count < (shard+1)*buckets && shard*buckets < (bucket+1)*r.Count }) {
			without = append(without, strconv.Itoa(bucket))
		}
	}
	return without
}

// selector returns the selector of the objects of shards, which are sorted. Shards that follow each
// other are one range.
func selector(shards []int, count int) string {
	var ranges []sharding.ShardRangeRequirement
	for i, shard := range shards {
		if end := bound(shard+1, count); i > 0 && shards[i-1] == shard-1 {
			ranges[len(ranges)-1].End = end
		} else {
			ranges = append(ranges, sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: bound(shard, count), End: end})
		}
	}
	return sharding.NewSelector(ranges...).String()
}

// bound returns the least hash of a shard.
func bound(shard, count int) string {
	if shard == count {
		return "0x10000000000000000"
	}
	least, rest := bits.Div64(uint64(shard), 0, uint64(count))
	if rest > 0 {
		least++
	}
	return fmt.Sprintf("0x%016x", least)
}
