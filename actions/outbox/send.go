package outbox

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/internal/httpwait"
	"github.com/pequod-io/pequod/internal/source"
)

// Verdict is what becomes of a message after an answer.
type Verdict int

// The verdicts.
const (
	// Repeat means that the message is sent again later.
	Repeat Verdict = iota
	// Delivered means that the server has the message.
	Delivered
	// Refused means that the server will never accept the message.
	Refused
)

// Answer is the verdict about the status of an answer. A server that refuses the address or
// the credentials doesn't refuse the message: an administrator can repair that.
func Answer(answer *egress.Response) Verdict {
	switch status := answer.Status; {
	case status >= 200 && status < 300:
		return Delivered
	case status >= 400 && status < 500:
		switch status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
			http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
			return Repeat
		}
		return Refused
	}
	return Repeat
}

// send sends a message. after is when the server wants it again, or 0. The error has no secret, and
// neither the body of the request nor that of the answer.
func (b *Outbox) send(ctx context.Context, m Message) (after time.Duration, verdict Verdict, err error) {
	header := http.Header{}
	maps.Copy(header, b.Header)
	maps.Copy(header, m.Header)
	if b.HeaderFile != "" {
		added, err := ReadHeaders(b.HeaderFile)
		if err != nil {
			return 0, Repeat, err
		}
		maps.Copy(header, added)
	}
	request := egress.Request{Method: http.MethodPost, URL: b.URL, Header: header, Body: m.Body}
	if b.CAFile != "" {
		if request.CABundle, err = ReadCertificates(b.CAFile); err != nil {
			return 0, Repeat, err
		}
	}
	answer, err := b.Client.Do(ctx, request)
	if err != nil {
		return 0, Repeat, err
	}
	if verdict = b.Verdict(answer); verdict == Delivered {
		return 0, verdict, nil
	}
	if answer.Status < 300 {
		return 0, verdict, errors.New("the server has accepted a part of it")
	}
	after, _ = httpwait.Demanded(answer.Header, time.Now())
	return after, verdict, fmt.Errorf("the server answers %d", answer.Status)
}

// ReadHeaders reads headers from a file, one a line: "Authorization: Bearer TOKEN". The error
// doesn't show their values.
func ReadHeaders(file string) (http.Header, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("%s:%d: not a header such as Authorization: Bearer TOKEN", source.OneLine(file, 256), n)
		}
		header.Set(name, value)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(header) == 0 {
		return nil, errors.New(source.OneLine(file, 256) + ": no header")
	}
	return header, nil
}

// ReadCertificates reads the certificates of authorities from a file, as PEM.
func ReadCertificates(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return "", errors.New(source.OneLine(file, 256) + ": no certificate as PEM")
	}
	return string(text), nil
}
