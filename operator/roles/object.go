package roles

import (
	"reflect"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sameObject reports whether two typed objects have the same kind, namespace and name.
func sameObject(a, b client.Object) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && client.ObjectKeyFromObject(a) == client.ObjectKeyFromObject(b)
}

// itemsOf returns the objects of a typed list.
func itemsOf(list client.ObjectList) ([]client.Object, error) {
	var all []client.Object
	err := apimeta.EachListItem(list, func(item runtime.Object) error {
		all = append(all, item.(client.Object))
		return nil
	})
	return all, err
}
