package effect

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxReceipts is the number of messages that an object remembers.
const maxReceipts = 100

// receipt is a digest of a message and of one of its effects.
type receipt string

// receiptOf returns the receipt of an effect, by the UID of the Receiver, the position of the
// effect and the key of the message.
func receiptOf(uid string, effect int, key string) receipt {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", uid, effect, key))
	return receipt(base64.RawURLEncoding.EncodeToString(sum[:12]))
}

// entry is a receipt with the time in seconds since 1970 until which it is remembered.
type entry struct {
	receipt receipt
	until   int64
}

// parse returns the entries of an annotation, oldest first. Entries in another form are dropped:
// another client has written them.
func parse(annotation string) (entries []entry) {
	for field := range strings.FieldsSeq(annotation) {
		name, time, _ := strings.Cut(field, ":")
		if until, err := strconv.ParseInt(time, 36, 64); err == nil {
			entries = append(entries, entry{receipt(name), until})
		}
	}
	return entries
}

// has reports whether an annotation has a receipt that is still remembered.
func has(annotation string, r receipt, now time.Time) bool {
	return slices.ContainsFunc(parse(annotation), func(e entry) bool { return e.receipt == r && e.until > now.Unix() })
}

// add returns an annotation with one more receipt. The oldest go first if there are too many.
func add(annotation string, r receipt, now time.Time, keep time.Duration) string {
	entries := slices.DeleteFunc(parse(annotation), func(e entry) bool { return e.receipt == r || e.until <= now.Unix() })
	entries = append(entries, entry{r, now.Add(keep).Unix()})
	entries = entries[max(0, len(entries)-maxReceipts):]
	fields := make([]string, len(entries))
	for i, e := range entries {
		fields[i] = string(e.receipt) + ":" + strconv.FormatInt(e.until, 36)
	}
	return strings.Join(fields, " ")
}
