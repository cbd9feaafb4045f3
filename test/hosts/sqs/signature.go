package sqs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// authorization is the form of the header of Signature Version 4.
var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$`)

// signed reports whether a request has a valid signature of the queue's user, which covers the
// body, the host and the target. It is written from the description of the algorithm.
func signed(r *http.Request, body []byte) bool {
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil || m[1] != AccessKey || m[3] != Region || m[4] != "sqs" {
		return false
	}
	names := strings.Split(m[5], ";")
	covered := map[string]bool{}
	canonical := r.Method + "\n" + r.URL.EscapedPath() + "\n" + r.URL.RawQuery + "\n"
	for _, name := range names {
		covered[name] = true
		value := strings.TrimSpace(strings.Join(r.Header.Values(name), ","))
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		canonical += name + ":" + value + "\n"
	}
	if !covered["host"] || !covered["x-amz-date"] || !covered["x-amz-target"] {
		return false
	}
	canonical += "\n" + m[5] + "\n" + digest(body)
	return hmac.Equal([]byte(m[6]), []byte(signature(r.Header.Get("X-Amz-Date"), m[2], m[3], m[4], canonical)))
}

// signature returns the signature of a canonical request.
func signature(at, day, region, service, canonical string) string {
	scope := strings.Join([]string{day, region, service, "aws4_request"}, "/")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", at, scope, digest([]byte(canonical))}, "\n")
	key := []byte("AWS4" + SecretKey)
	for _, part := range []string{day, region, service, "aws4_request"} {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // never fails
	return h.Sum(nil)
}
