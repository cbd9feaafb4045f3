package shards

import (
	"hash/fnv"
	"math/bits"

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
