// Package rights takes rights away from programs that run as they are installed, one verb of one rule at
// a time, and gives them back. While a right is missing, no condition may be True that the
// program can't have read. When it is back, everything must recover by itself. It holds tests only.
package rights

import (
	"testing"

	"github.com/pequod-io/pequod/test/process"
)

func TestMain(m *testing.M) { process.Main(m) }
