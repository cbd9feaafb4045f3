package inventory

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"unicode/utf8"
)

// Split cuts a text into parts of at most limit bytes, between lines where it
// can. [Join] puts them together again.
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

// Join puts together what [Split] cut.
func Join(parts [][]byte) []byte { return bytes.Join(parts, nil) }

// Checksum tells parts apart by their content: a SHA-256 in hexadecimal.
func Checksum(part []byte) string {
	sum := sha256.Sum256(part)
	return hex.EncodeToString(sum[:])
}

// Digest tells two states of an object apart in few characters, since every
// entry holds two digests: half a SHA-256, 22 characters. It finds changes; it
// doesn't withstand who can choose both states.
func Digest(state []byte) string {
	sum := sha256.Sum256(state)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
