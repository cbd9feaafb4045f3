package trace

import (
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/outbox"
)

// Verdict decides about the answer of a collector, as OTLP asks for: only these answers permit to send
// the same again. Addresses and credentials can be repaired. A trace of which a part was rejected must not
// be sent again, either.
func Verdict(answer *egress.Response) outbox.Verdict {
	switch answer.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return outbox.Repeat
	}
	switch v := outbox.Answer(answer); {
	case v == outbox.Delivered && rejected(answer.Body) > 0, answer.Status >= 500:
		return outbox.Refused
	default:
		return v
	}
}

// rejected returns the number of spans that a collector has rejected: the field
// partial_success.rejected_spans of an ExportTraceServiceResponse. The package with its type links gRPC.
// An answer that is no such message rejects nothing.
func rejected(body []byte) (spans uint64) {
	each(body, func(field protowire.Number, value []byte, _ uint64) {
		if field == 1 {
			each(value, func(field protowire.Number, _ []byte, number uint64) {
				if field == 1 {
					spans = number
				}
			})
		}
	})
	return spans
}

// each calls f with the fields of a message: bytes or a number. It stops at the first mistake.
func each(message []byte, f func(field protowire.Number, value []byte, number uint64)) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(field, kind, message)
		if size < 0 {
			return
		}
		switch kind {
		case protowire.BytesType:
			value, _ := protowire.ConsumeBytes(message)
			f(field, value, 0)
		case protowire.VarintType:
			number, _ := protowire.ConsumeVarint(message)
			f(field, nil, number)
		}
		message = message[size:]
	}
}
