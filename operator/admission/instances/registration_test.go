package instances

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
)

// TestWebhooks holds which webhooks a configuration gets, and that a second look changes
// nothing.
func TestWebhooks(t *testing.T) {
	type list = []admissionregistrationv1.ValidatingWebhook
	r := &Registration{Namespace: "pequod-system", FailurePolicy: admissionregistrationv1.Ignore}
	theirs := admissionregistrationv1.ValidatingWebhook{
		Name: "transforms.platform.pequod.io",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "elsewhere", Name: "hook", Path: new("/validate-transforms"), Port: new(int32(443))},
		},
	}
	none, all := func(string) bool { return false }, func(string) bool { return true }
	if got := r.webhooks(nil, []*catalog.Entry{entry}, all); len(got) != 0 {
		t.Errorf("without another webhook: %+v", got)
	}
	cluster := *entry
	cluster.IgnoresLabels, cluster.IgnoresAnnotations = false, false
	cluster.Names.Plural, cluster.Names.Scope = "regions", v1alpha1.ScopeCluster
	cluster.Names.Versions = []v1alpha1.KindVersion{{Name: "v2", Served: true}, {Name: "v1", Served: true}, {Name: "v0"}}
	entries := []*catalog.Entry{&cluster, entry}
	first := r.webhooks(list{theirs}, entries, none)
	if len(first) != 3 || first[1].Name != "apps.pequod.io" || first[2].Name != "regions.pequod.io" {
		t.Fatalf("%+v", first)
	}
	if rule := first[2].Rules[0]; !cmp.Equal(rule.APIVersions, []string{"v2", "v1"}) || *rule.Scope != admissionregistrationv1.ClusterScope {
		t.Errorf("%+v", rule)
	}
	if s := first[1].ClientConfig.Service; s.Namespace != "elsewhere" || *s.Path != "/validate-instances" || *theirs.ClientConfig.Service.Path != "/validate-transforms" {
		t.Errorf("%+v", s)
	}
	if first[1].MatchConditions[0] == first[2].MatchConditions[0] {
		t.Error("labels that the module reads change nothing")
	}

	// The keeper of the certificate adds its conditions, in any place, and the authorities.
	live := list{*theirs.DeepCopy(), *first[1].DeepCopy(), *first[2].DeepCopy()}
	for i := range live {
		live[i].ClientConfig.CABundle = []byte("authorities")
		live[i].MatchConditions = append(live[i].MatchConditions, admissionregistrationv1.MatchCondition{Name: "not-the-program", Expression: "true"})
	}
	if diff := cmp.Diff(live, r.webhooks(live, entries, none)); diff != "" {
		t.Errorf("a second look (-live +next):\n%s", diff)
	}
	// What others change is taken back, but not the keeper's.
	changed := list{*live[0].DeepCopy(), *live[1].DeepCopy(), *live[2].DeepCopy()}
	changed[1].FailurePolicy = new(admissionregistrationv1.Fail)
	changed[1].MatchConditions[0].Expression = "false"
	got := r.webhooks(changed, entries, none)
	if *got[1].FailurePolicy != admissionregistrationv1.Ignore || len(got[1].MatchConditions) != 3 || got[1].MatchConditions[0] != live[1].MatchConditions[0] {
		t.Errorf("%+v", got[1])
	}
	// A kind that is not in the catalog keeps its webhook as long as a Transform has it.
	if got := r.webhooks(live, nil, all); len(got) != 3 {
		t.Errorf("after a restart: %+v", got)
	}
	if got := r.webhooks(live, entries[:1], none); len(got) != 2 || got[1].Name != "regions.pequod.io" {
		t.Errorf("without a kind: %+v", got)
	}
	// Another namespace of the Service reaches all.
	live[0].ClientConfig.Service.Namespace = "other"
	if got := r.webhooks(live, entries, none); got[1].ClientConfig.Service.Namespace != "other" || got[2].ClientConfig.Service.Namespace != "other" {
		t.Errorf("%+v", got)
	}
}
