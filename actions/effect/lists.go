package effect

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/actions/source"
)

// maxListers is the number of messages that share one list. It is more than there are at once.
const maxListers = 10000

// listing is the result of a list for one message.
type listing struct {
	items []unstructured.Unstructured
	err   error
}

// list returns the selected objects, which must not be changed: messages that arrive during a list
// share the next one.
func (s *step) list(ctx context.Context, objects resource, selector string) ([]unstructured.Unstructured, error) {
	var result listing
	err := s.lists.join(ctx, objects.name+" "+selector, maxListers, &result, func(ctx context.Context, all []*listing) {
		var shared listing
		list, err := objects.client.List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: maxObjects})
		switch {
		case err != nil:
			shared.err = err
		case list.GetContinue() != "":
			shared.err = &source.Error{Class: source.Failed, Message: fmt.Sprintf("the selector selects more than %d objects", maxObjects)}
		default:
			shared.items = list.Items
		}
		for _, l := range all {
			*l = shared
		}
	})
	if err != nil {
		return nil, err
	}
	return result.items, result.err
}
