package modules_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/oci"
)

// TestFetched checks that each opening of a module is reported once, with its source, its
// time and the cause of a failure.
func TestFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		opener := modules.Opener{Options: modules.Options{
			Fetched: func(source v1alpha1.CueRefType, took time.Duration, err error) {
				result := "ok"
				for _, cause := range []oci.Cause{oci.NotFound, oci.Unavailable} {
					if oci.Causes(err, cause) {
						result = string(cause)
					}
				}
				if err != nil && result == "ok" {
					result = err.Error()
				}
				got = append(got, fmt.Sprint(source, " ", took, " ", result))
			},
			ConfigMaps: func(_ context.Context, namespace, name string) (*inline.Module, error) {
				time.Sleep(3 * time.Second)
				return inline.FromConfigMap(&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelCueModule: "true"}},
					Data:       map[string]string{"x.cue": "package x"},
				}, inline.Origin{Name: name})
			},
		}}
		for _, ref := range []v1alpha1.CueRef{
			{Type: v1alpha1.CueRefConfigMap, Ref: "shop/web"},
			{Type: v1alpha1.CueRefConfigMap, Ref: "shop/web"}, // open
			{Type: v1alpha1.CueRefEmbedded, Ref: "webservice"},
			{Type: v1alpha1.CueRefInline, Ref: "package x"},
			{Type: v1alpha1.CueRefPath, Ref: "platform/webservice"},
			{Type: v1alpha1.CueRefPath, Ref: "none"},
			{Type: v1alpha1.CueRefOCI, Ref: "oci-layout:none:v1.0.0"},
			{Type: v1alpha1.CueRefGit, Ref: "git::ftp://example.com/x"},
			{Type: "ftp", Ref: "x"},                                                  // unknown
			{Type: v1alpha1.CueRefOCI, Ref: "oci://x/y", Verify: &v1alpha1.Verify{}}, // refused
		} {
			_, _ = opener.Open(t.Context(), ref, modules.Place{}) // Fetched has the error
		}
		want := []string{
			"configmap 3s ok", "embedded 0s ok", "inline 0s ok", "path 0s ok", "path 0s none: no such file or directory",
			"oci 0s NotFound", "git 0s git::ftp://example.com/x: want git::https://HOST/REPOSITORY[//DIR][?ref=REVISION], or ssh or file instead of https",
		}
		if !slices.Equal(got, want) {
			t.Errorf("reported\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
