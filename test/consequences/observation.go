package consequences

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/review/forecast"
)

// Measurements is the content of testdata/measurements.json.
type Measurements struct {
	// Kubernetes is the version of the control plane.
	Kubernetes string                 `json:"kubernetes"`
	Cases      map[string]Observation `json:"cases"`
}

// Observation has the events after a change.
type Observation struct {
	// Refused is the message of the API server, if it refused the change.
	Refused string `json:"refused,omitempty"`
	// Generation is set if the generation of the object grew.
	Generation bool `json:"generation,omitempty"`
	// Before is the number of Pods before the change. Ended are those that don't exist
	// or run any more, and Started are new.
	Before  int `json:"podsBefore,omitempty"`
	Ended   int `json:"podsEnded,omitempty"`
	Started int `json:"podsStarted,omitempty"`
	// Downtime is set if no Pod was ready at some time after the change.
	Downtime bool `json:"downtime,omitempty"`
	// AddressesLost are addresses of Services and hosts of Ingresses that are gone.
	AddressesLost []string `json:"addressesLost,omitempty"`
	// DataLost are claims whose volume is deleted or is about to be.
	DataLost []string `json:"dataLost,omitempty"`
	// ObjectsLost are other objects of the case that are deleted, too.
	ObjectsLost []string `json:"objectsLost,omitempty"`
	// EndpointsLost are Services that lose their ready endpoints, at least for a time.
	EndpointsLost []string `json:"endpointsLost,omitempty"`
	// QuotaExceeded is set if Pods or objects were refused because of a quota.
	QuotaExceeded bool `json:"quotaExceeded,omitempty"`
	// Overridden are changed fields that have another value after a while.
	Overridden []string `json:"overridden,omitempty"`
}

// Effect returns the effect that was observed in a case. It returns None if nothing
// ended, was lost or was refused: an observation can't tell whether Pods noticed the
// change. Addresses in the cluster end with an object that is removed, and are lost if
// it stays.
func (o Observation) Effect(c Case) forecast.Effect {
	lost := o.AddressesLost
	if c.Remove {
		lost = slices.DeleteFunc(slices.Clone(lost), func(a string) bool { return !strings.HasPrefix(a, "load balancer ") })
	}
	switch {
	case strings.Contains(o.Refused, "exceeded quota"):
		return forecast.Quota
	case o.Refused != "":
		return forecast.Refused
	case len(lost)+len(o.DataLost)+len(o.ObjectsLost) > 0:
		return forecast.Lost
	case len(o.EndpointsLost) > 0:
		return forecast.Unreachable
	case len(o.AddressesLost) > 0:
		return forecast.Stopped
	case len(o.Overridden) > 0:
		return forecast.Autoscaler
	case o.Ended > 0 && o.Ended == o.Before && o.Started == 0:
		return forecast.Stopped
	case o.Ended > 0 && o.Started > 0 && o.Downtime:
		return forecast.Recreate
	case o.Ended > 0 && o.Started > 0:
		return forecast.RollingRestart
	case o.QuotaExceeded:
		return forecast.Quota
	}
	return forecast.None
}

// Quiet reports whether an effect looks like [forecast.None] in an observation.
func Quiet(e forecast.Effect) bool { return e.Severity() <= forecast.Unnoticed.Severity() }

// ReadMeasurements reads the measurements of a directory.
func ReadMeasurements(dir string) (Measurements, error) {
	var m Measurements
	data, err := os.ReadFile(dir + "/measurements.json")
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("measurements.json: %w", err)
	}
	return m, nil
}

// Write writes the measurements to a directory. The order is that of the names.
func (m Measurements) Write(dir string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return err
	}
	return os.WriteFile(dir+"/measurements.json", b.Bytes(), 0o644)
}
