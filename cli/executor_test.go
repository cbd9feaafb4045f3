package cli_test

import (
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pequod-io/pequod/test/hosts/executor"
)

// startExecutor starts a server of the executor protocol and sets a variable to its address:
// executor VARIABLE TOKEN [FAULT].
func startExecutor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: executor VARIABLE TOKEN [FAULT]")
	}
	s := executor.New()
	s.Token = args[1]
	if len(args) == 3 {
		s.Fault = executor.Fault(args[2])
	}
	server := httptest.NewServer(s)
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}
