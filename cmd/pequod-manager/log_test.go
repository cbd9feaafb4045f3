package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// documentedGrep matches the commands of the documents that search a log.
var documentedGrep = regexp.MustCompile(`kubectl logs [^|\n]*\| grep (?:'([^']*)'|([^ '\x60\n]+))`)

// TestDocumentedGreps searches the log of a manager with the commands of the runbook, after what they are
// for: a module that can't be fetched, and a Transform and a graph that change.
func TestDocumentedGreps(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, m := range documentedGrep.FindAllStringSubmatch(string(text), -1) {
		patterns = append(patterns, m[1]+m[2])
	}
	if len(patterns) < 3 {
		t.Fatalf("docs/operations.md has the patterns %q", patterns)
	}
	c, _ := deployed.Install(t)
	p := start(t, c)
	c.Apply(t, webService(process.Namespace))
	c.Apply(t, "{apiVersion: platform.pequod.io/v1alpha1, kind: Transform, metadata: {name: missing, namespace: "+process.Namespace+"}, spec: {cueRef: {type: embedded, ref: missing}}}")
	hasCondition(t, c, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "webservice", "Ready", "True", "")
	c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: 'ghcr.io/example/web:v1', port: 8080, replicas: 2}}")
	hasCondition(t, c, "pequod.io/v1alpha1", "WebService", c.Namespace, "web", "Ready", "True", "")
	for _, pattern := range patterns {
		harness.Eventually(t, patience, func(context.Context) error {
			for _, line := range p.Log.Lines() {
				// What the program was started with is no answer.
				if strings.Contains(line, pattern) && strings.Contains(line, `"level":"info"`) && !strings.Contains(line, `"msg":"starting"`) {
					return nil
				}
			}
			return errors.New("the log has no line with " + pattern)
		})
	}
}
