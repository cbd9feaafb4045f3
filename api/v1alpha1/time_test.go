package v1alpha1

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// TestMilliTime writes milliseconds and reads what older versions wrote, also by way of an unstructured
// object.
func TestMilliTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)
	const want = `{"appliedAt":"2026-03-01T12:00:00.123Z"}`
	state := NodeState{AppliedAt: NewMilliTime(at), ReadyAt: NewMilliTime(time.Time{})}
	data, err := json.Marshal(state)
	if err != nil || string(data) != want {
		t.Errorf("JSON: %s, %v", data, err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&state)
	if err != nil || fields["appliedAt"] != "2026-03-01T12:00:00.123Z" || fields["readyAt"] != nil {
		t.Errorf("unstructured: %v, %v", fields, err)
	}
	var back NodeState
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &back); err != nil || !back.AppliedAt.UTC().Equal(state.AppliedAt.UTC()) {
		t.Errorf("from unstructured: %v, %v", back.AppliedAt, err)
	}
	for text, want := range map[string]time.Time{
		`"2026-03-01T12:00:00Z"`: at.Truncate(time.Second), `"2026-03-01T13:00:00.123+01:00"`: at.Truncate(time.Millisecond), `null`: {},
	} {
		var got MilliTime
		if err := json.Unmarshal([]byte(text), &got); err != nil || !got.UTC().Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if data, err := json.Marshal(MilliTime{}); err != nil || string(data) != "null" {
		t.Errorf("zero: %s, %v", data, err)
	}
	var got MilliTime
	if err := json.Unmarshal([]byte(`"soon"`), &got); err == nil {
		t.Errorf("read %v", got)
	}
}
