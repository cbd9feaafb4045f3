package inventory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// Split cuts text into parts of at most limit bytes, between lines if possible.
// [Join] reverses it.
func Split(text []byte, limit int) [][]byte {
	var parts [][]byte
	for len(text) > limit {
		end := bytes.LastIndexByte(text[:limit], '\n') + 1
		if end == 0 {
			end = limit
			for end > 1 && !utf8.RuneStart(text[end]) {
				end--
			}
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
	return append(parts, text)
}

// Join concatenates the parts that [Split] returned.
func Join(parts [][]byte) []byte { return bytes.Join(parts, nil) }

// Checksum returns the SHA-256 of a part in hexadecimal. Stores use it to detect
// parts that were changed.
func Checksum(part []byte) string {
	sum := sha256.Sum256(part)
	return hex.EncodeToString(sum[:])
}
