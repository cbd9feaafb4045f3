package objectdiff

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// web returns the objects of an instance of a platform for services: a Deployment, a Service
// with nothing of its own, and a ConfigMap that is equal for all.
func web(t *testing.T, name, image, more string) []Object {
	t.Helper()
	return instance(t, "Web", name, fmt.Sprintf(`
- id: app
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: %[1]s, labels: {app: %[1]s, tier: web}}
    spec:
      replicas: 2
      selector: {matchLabels: {app: %[1]s}}
      template:
        metadata: {labels: {app: %[1]s}}
        spec:
          serviceAccountName: %[1]s
          securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
          containers:
          - name: app
            image: %[2]s
            ports: [{name: http, containerPort: 8080}]
            readinessProbe: {httpGet: {path: /healthz, port: http}}
            resources: {requests: {cpu: 100m, memory: 128Mi}}
            %[3]s
- id: service
  resource:
    apiVersion: v1
    kind: Service
    metadata: {name: %[1]s, labels: {app: %[1]s, tier: web}}
    spec: {selector: {app: %[1]s}, ports: [{name: http, port: 80, targetPort: http}]}
- id: settings
  resource:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: %[1]s-settings}
    data: {LOG: json, LEVEL: info, TZ: UTC, TRACE: "off", REGION: eu, CELL: a, PROXY: none}
`, name, image, more))
}

// database returns the objects of an instance of a platform for databases, which all have one
// image.
func database(t *testing.T, name, size string) []Object {
	t.Helper()
	return instance(t, "Database", name, fmt.Sprintf(`
- id: db
  resource:
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: %[1]s}
    spec:
      replicas: 1
      serviceName: %[1]s
      selector: {matchLabels: {db: %[1]s}}
      template: {metadata: {labels: {db: %[1]s}}, spec: {containers: [{name: postgres, image: "postgres:16", args: [-c, fsync=on]}]}}
      volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: %[2]s}}}}]
`, name, size))
}

func instance(t *testing.T, kind, name, nodes string) []Object {
	t.Helper()
	var rg v1alpha1.ResourceGraph
	rg.Name, rg.Namespace = name+"-1a2b", "shop"
	rg.Spec.SourceRef = v1alpha1.ObjectRef{APIVersion: "example.com/v1", Kind: kind, Name: name}
	if err := yaml.UnmarshalStrict([]byte(nodes), &rg.Spec.Graph.Nodes); err != nil {
		t.Fatal(err)
	}
	objects, err := FromGraph(&rg, "")
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// Instances of one platform are alike by nature. Only what they have for themselves tells
// whether one got a new name.
func TestRenamed(t *testing.T) {
	deployment := func(name, image string) []Object {
		return parse(t, []string{fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s, namespace: shop}, spec: {replicas: 2, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: app, image: %[2]q}]}}}}", name, image)})
	}
	generic := func(name string) []Object {
		return parse(t, []string{
			fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %[1]s, namespace: shop}, spec: {selector: {app: %[1]s}, ports: [{port: 80}]}}", name),
			fmt.Sprintf("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s-data, namespace: shop}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}", name),
		})
	}
	bucket := func(name, region string) []Object {
		return parse(t, []string{fmt.Sprintf("{apiVersion: example.com/v1, kind: Bucket, metadata: {name: %s, namespace: shop}, spec: {provider: aws, region: %s}}", name, region)})
	}
	join := func(all ...[]Object) []Object {
		var objects []Object
		for _, o := range all {
			objects = append(objects, o...)
		}
		return objects
	}
	others := join(web(t, "api", "example.com/api:1", ""), web(t, "cart", "example.com/cart:1", "env: [{name: DB, value: cart-db}]"), web(t, "mail", "example.com/mail:1", ""))
	stays := join(database(t, "a", "10Gi"), database(t, "b", "10Gi"))
	const all = "ConfigMap front-settings from web-settings, Deployment front from web, Service front from web"
	for name, test := range map[string]struct {
		removed, added, others []Object
		want                   string
	}{
		"a renamed instance among others": {web(t, "web", "example.com/shop:1", ""), web(t, "front", "example.com/shop:1", ""), others, all},
		"a renamed instance alone":        {web(t, "web", "example.com/shop:1", ""), web(t, "front", "example.com/shop:1", ""), nil, all},
		"with the next release":           {web(t, "web", "example.com/shop:1", ""), web(t, "front", "example.com/shop:2@sha256:00", ""), others, all},
		"with one more setting":           {web(t, "web", "example.com/shop:1", ""), web(t, "front", "example.com/shop:1", "imagePullPolicy: Always"), others, all},
		"with a variable of its own": {
			web(t, "web", "example.com/web:1", "env: [{name: DB, value: shop-db}]"), web(t, "front", "example.com/web:1", "env: [{name: DB, value: shop-db}]"), others, all,
		},
		"two instances that are swapped": {
			join(web(t, "web", "example.com/shop:1", ""), web(t, "old", "example.com/old:1", "")),
			join(web(t, "new", "example.com/old:1", ""), web(t, "front", "example.com/shop:1", "")), others,
			all + ", ConfigMap new-settings from old-settings, Deployment new from old, Service new from old",
		},
		"an unrelated instance among others": {web(t, "web", "example.com/shop:1", ""), web(t, "front", "example.com/front:1", ""), others, ""},
		"an unrelated instance alone":        {web(t, "web", "example.com/shop:1", ""), web(t, "front", "example.com/front:1", ""), nil, ""},
		"images that have the names":         {web(t, "web", "example.com/web:1", ""), web(t, "front", "example.com/front:1", ""), others, ""},
		"images that have the names, alone":  {web(t, "web", "example.com/web:1", ""), web(t, "front", "example.com/front:1", ""), nil, ""},
		"a new job of the same program": {
			web(t, "web", "example.com/shop:1", "args: [serve, a]"), web(t, "front", "example.com/shop:1", "args: [work, b]"), others, "",
		},
		"another platform":                  {web(t, "web", "example.com/shop:1", ""), database(t, "front", "1Gi"), others, ""},
		"databases of the default size":     {database(t, "web", "10Gi"), database(t, "front", "10Gi"), stays, ""},
		"databases of another size":         {database(t, "web", "50Gi"), database(t, "front", "50Gi"), stays, ""},
		"the only databases, of two sizes":  {database(t, "web", "50Gi"), database(t, "front", "10Gi"), nil, ""},
		"the only databases, equal":         {database(t, "web", "50Gi"), database(t, "front", "50Gi"), nil, "StatefulSet front from web"},
		"a manifest":                        {deployment("web", "shop:1"), deployment("front", "shop:2"), deployment("api", "api:1"), "Deployment front from web"},
		"an unrelated manifest":             {deployment("web", "shop:1"), deployment("front", "front:1"), deployment("api", "api:1"), ""},
		"a manifest like all":               {deployment("web", "shop:1"), deployment("front", "shop:1"), join(deployment("api", "shop:1"), deployment("b", "shop:1")), ""},
		"generic manifests follow":          {join(deployment("web", "shop:1"), generic("web")), join(deployment("front", "shop:1"), generic("front")), nil, "Deployment front from web, PersistentVolumeClaim front-data from web-data, Service front from web"},
		"generic manifests of another name": {join(deployment("web", "shop:1"), generic("one")), join(deployment("front", "shop:1"), generic("two")), nil, "Deployment front from web"},
		"generic manifests alone":           {generic("web"), generic("front"), nil, ""},
		"a resource of an operator":         {bucket("web", "eu"), bucket("front", "eu"), bucket("other", "us"), "Bucket front from web"},
		"another resource of an operator":   {bucket("web", "eu"), bucket("front", "us"), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Compare(join(test.others, test.removed), join(test.added, test.others))
			want := map[string]bool{}
			for _, text := range strings.Split(test.want, ", ") {
				want[text] = test.want != ""
			}
			for i := range d.Objects {
				o := &d.Objects[i]
				for _, w := range o.Warnings {
					if w.Rule != RuleRenamed {
						continue
					}
					_, old, _ := strings.Cut(w.Message, " shop/")
					old, _, _ = strings.Cut(old, ",")
					text := o.Kind + " " + o.Name + " from " + old
					if !want[text] {
						t.Errorf("unexpected: %s", text)
					}
					delete(want, text)
				}
			}
			for text, missing := range want {
				if missing {
					t.Errorf("not found: %s", text)
				}
			}
		})
	}
}
