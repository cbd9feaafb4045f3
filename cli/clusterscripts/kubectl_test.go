package clusterscripts_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// kubectl is as much of kubectl as the documents use, for what others do to
// objects: create -f FILE, patch KIND NAME -p PATCH and delete KIND NAME, each
// with -n.
func kubectl() {
	if err := runKubectl(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func runKubectl(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no command")
	}
	verb, args := args[0], args[1:]
	var words []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		words, args = append(words, args[0]), args[1:]
	}
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	namespace, file, patch := flags.String("n", "default", ""), flags.String("f", "", ""), flags.String("p", "", "")
	_ = flags.String("type", "merge", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	if verb == "create" {
		text, err := os.ReadFile(*file)
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal(text, &obj.Object); err != nil {
			return err
		}
		words = []string{strings.ToLower(obj.GetKind()), obj.GetName()}
	}
	if len(words) != 2 {
		return fmt.Errorf("%s: want a kind and a name", verb)
	}
	client, err := resource(words[0], *namespace)
	if err != nil {
		return err
	}
	done := map[string]string{"create": "created", "patch": "patched", "delete": "deleted"}[verb]
	switch verb {
	case "create":
		_, err = client.Create(ctx, obj, metav1.CreateOptions{FieldManager: "kubectl-create"})
	case "patch":
		_, err = client.Patch(ctx, words[1], types.MergePatchType, []byte(*patch), metav1.PatchOptions{FieldManager: "kubectl-patch"})
	case "delete":
		err = client.Delete(ctx, words[1], metav1.DeleteOptions{})
	default:
		err = fmt.Errorf("unknown command %s", verb)
	}
	if err == nil {
		fmt.Printf("%s/%s %s\n", words[0], words[1], done)
	}
	return err
}

func resource(kind, namespace string) (dynamic.ResourceInterface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: kind + "s"}
	if kind == "deployment" {
		gvr.Group = "apps"
	}
	return client.Resource(gvr).Namespace(namespace), nil
}
