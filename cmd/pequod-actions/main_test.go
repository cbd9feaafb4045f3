package main

import (
	"testing"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/process"
)

// installed is the program as it is installed.
var installed = process.Program{Name: name, Account: "pequod-actions", Manifests: config.Actions}

func TestMain(m *testing.M) { process.Main(m) }
