package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// The bodies of the Operator Controller's POST /api/v1/resources and PUT /api/v1/resources/1.
const (
	postBody = `{
    "name": "production-pg",
    "resource_type_name": "DatabaseCluster",
    "resource_type_version": "v1",
    "action_plugin": "github_actions",
    "spec": {
      "engine": "postgres",
      "engine_version": "16.2",
      "instance_class": "db.large",
      "storage_gb": 500,
      "replicas": 2,
      "backup_retention_days": 14,
      "high_availability": true
    }
  }`
	putBody = `{
    "spec": {
      "engine": "postgres",
      "engine_version": "16.2",
      "instance_class": "db.xlarge",
      "storage_gb": 1000,
      "replicas": 3,
      "backup_retention_days": 14,
      "high_availability": true
    }
  }`
)

// TestResourcesByHTTP creates, changes and deletes an instance with the sample and the bodies of the Operator
// Controller. A deletion that is sent again, after an instance with the name was created again, deletes nothing.
func TestResourcesByHTTP(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, process.PequodIn(t, t.TempDir(), 0, "crd", "generate", "-p", "embedded:databasecluster"))
	sample, err := os.ReadFile("../../config/samples/receivers/resources.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: resources}, stringData: {token: "+hookToken+"}}")
	e.Apply(t, string(sample))
	address := process.FreeAddress(t)
	e.run(t, "--receiver-addr="+address, "--receiver-kinds=*.pequod.io")
	resources, deletion := "http://"+address+e.receiving(t, "resources", "Receiving"), "http://"+address+e.receiving(t, "resources-delete", "Receiving")
	named := []string{"Resource-Type-Name", "DatabaseCluster", "Resource-Type-Version", "v1", "Resource-Name", "production-pg"}
	answers := func(want int, url, body string, header ...string) {
		t.Helper()
		if code, text := bear(t, url, body, header...); code != want {
			t.Fatalf("the answer is %d, want %d: %s", code, want, text)
		}
	}
	clusters := e.Await(t, "pequod.io/v1", "DatabaseCluster", "")
	class := func(want string) *unstructured.Unstructured {
		t.Helper()
		stored, err := clusters.Get(t.Context(), "production-pg", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedString(stored.Object, "spec", "instance_class"); got != want {
			t.Errorf("the class is %q, want %q", got, want)
		}
		return stored
	}
	harness.Eventually(t, patience, func(context.Context) error { // the path is served
		if code, text := bear(t, resources, postBody); code != 200 {
			return fmt.Errorf("%d: %s", code, text)
		}
		return nil
	})
	class("db.large")
	answers(200, resources, putBody, named...)
	stored := class("db.xlarge")
	answers(422, resources, strings.Replace(putBody, "1000", "5", 1), named...)
	answers(422, resources, putBody) // without the headers

	deletes := func(uid string) string {
		text, err := json.Marshal(map[string]string{"name": "production-pg", "resource_type_name": "DatabaseCluster", "resource_type_version": "v1", "uid": uid})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if code, text := bear(t, deletion, deletes("of another one")); code != 200 {
			return fmt.Errorf("%d: %s", code, text)
		}
		return nil
	})
	class("db.xlarge")
	answers(422, deletion, deletes(""))
	first := deletes(string(stored.GetUID()))
	answers(200, deletion, first)
	if _, err := clusters.Get(t.Context(), "production-pg", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the instance is there: %v", err)
	}
	answers(200, deletion, first)
	answers(200, resources, postBody)
	again := class("db.large")
	answers(200, deletion, first)
	if is := class("db.large"); is.GetUID() != again.GetUID() || is.GetDeletionTimestamp() != nil {
		t.Errorf("a message that was sent again has deleted another instance: %v", is.Object)
	}
}
