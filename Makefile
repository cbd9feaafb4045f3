# The tasks of development; CONTRIBUTING.md describes them. They need Go, git and
# make, and a C compiler for the race detector. Tools are pinned in go.mod.

GO      ?= go
# Programs are released without cgo. Tests and tools do without it, too, so that everything is
# compiled once, and linked without a C linker. Only the race detector needs cgo.
export CGO_ENABLED := 0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The digests of the released images of the applier, of the manager and of pequod-actions, to make
# the programs of a release.
IMAGE_DIGEST ?=
MANAGER_DIGEST ?=
ACTIONS_DIGEST ?=
LDFLAGS := -s -w -X github.com/pequod-io/pequod/internal/version.linked=$(VERSION)
LDFLAGS += $(if $(IMAGE_DIGEST),-X github.com/pequod-io/pequod/internal/version.imageDigest=$(IMAGE_DIGEST))
LDFLAGS += $(if $(MANAGER_DIGEST),-X github.com/pequod-io/pequod/internal/version.managerDigest=$(MANAGER_DIGEST))
LDFLAGS += $(if $(ACTIONS_DIGEST),-X github.com/pequod-io/pequod/internal/version.actionsDigest=$(ACTIONS_DIGEST))

# kustomize, which libraries for Kubernetes import, can load Go plugins. Without this
# tag the linker would keep every exported method, which makes programs 30 to 70 % larger.
TAGS := kustomize_disable_go_plugin_support

# Packages that are tested with the race detector: those that are concurrent or
# share files between processes. It makes CUE five to ten times slower.
RACE_PKGS ?= ./render/... ./modules/... ./cli/outdir/... ./operator/worker/...

# BENCH selects benchmarks in BENCH_PKGS, BENCHFLAGS are their flags: make bench BENCH=Render.
BENCH      ?= .
BENCH_PKGS ?= ./...
BENCHFLAGS ?= -benchtime=1x -timeout=30m

# Flags of the benchmark on a cluster: make bench-cluster BENCH_CLUSTER_FLAGS=-rounds=21
BENCH_CLUSTER_FLAGS ?=

# Flags of the test cluster, such as -data-dir, -nodes and -port:
# make cluster CLUSTER_FLAGS=-data-dir=/tmp/mine
CLUSTER_FLAGS ?=

# Flags of make demo-cluster and demo-actions: -keep leaves everything running until Ctrl-C.
DEMO_FLAGS ?=

# The generated files. `make generate` writes them.
GENERATED := docs/api.md docs/cmd docs/consequences.md review/forecast/rules.json 'api/*/zz_generated.*.go' render/kinds/builtin.txt operator/roles/embedded.json 'config/crd/*_*.yaml' 'config/actions/crd/*_*.yaml' config/actions.yaml config/applier.yaml config/operator.yaml config/chart/templates/actions.yaml config/chart/templates/crds.yaml config/chart/templates/gitops.yaml config/chart/templates/operator.yaml config/samples/resourcegraph.yaml config/samples/roles.yaml

.DEFAULT_GOAL := help
.PHONY: help fuzz consequences manifests install run run-manager deploy undeploy demo build test compat e2e goldens soak slow lint generate verify bench bench-history bench-cluster peers cluster costs demo-cluster demo-actions notices testcluster pictures parity release-check size vuln registry

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

manifests: ## Regenerate the CRDs, config/applier.yaml, config/operator.yaml, the chart and the samples
	$(GO) tool controller-gen crd paths=./api/v1alpha1 output:crd:dir=config/crd
	mv config/crd/platform.pequod.io_actions.yaml config/crd/platform.pequod.io_monitors.yaml config/crd/platform.pequod.io_receivers.yaml config/actions/crd/
	$(GO) run ./config/gen config/applier config/applier.yaml
	$(GO) run ./config/gen config/actions config/actions.yaml
	$(GO) run ./config/gen config/default config/operator.yaml
	$(GO) run ./config/gen chart config
	$(GO) run ./cmd/pequod render -f testdata/demo/app.yaml -p testdata/demo/transform.yaml > config/samples/resourcegraph.yaml
	$(GO) run ./cmd/pequod rbac generate -f config/samples/resourcegraph.yaml > config/samples/roles.yaml

# The next five targets use the cluster of the current kubeconfig. DEPLOY_FLAGS are
# flags of pequod install: make deploy DEPLOY_FLAGS="--mode=operator --image=registry.example.com/manager:v1"
DEPLOY_FLAGS ?=
# Flags of pequod uninstall: make undeploy UNDEPLOY_FLAGS=--mode=operator
UNDEPLOY_FLAGS ?=
# Flags of the applier or of the manager: make run RUN_FLAGS=--zap-log-level=debug
RUN_FLAGS ?=

install: ## Install the CRDs in the cluster
	$(GO) run ./cmd/pequod install --crds-only

run: ## Run the applier as a local process
	$(GO) run ./cmd/pequod-applier --zap-encoder=console $(RUN_FLAGS)

run-manager: ## Run the manager as a local process
	$(GO) run ./cmd/pequod-manager --zap-encoder=console $(RUN_FLAGS)

deploy: ## Install the applier in the cluster, or the manager with --mode=operator
	$(GO) run ./cmd/pequod install $(DEPLOY_FLAGS)

undeploy: ## Remove the applier or the manager from the cluster, but not the objects that it manages
	$(GO) run ./cmd/pequod uninstall --yes $(UNDEPLOY_FLAGS)

demo: ## Print a CRD and a ResourceGraph
	$(GO) run ./cmd/pequod crd generate -p embedded:webservice
	$(GO) run ./cmd/pequod render -f testdata/demo/app.yaml -p testdata/demo/transform.yaml

build: ## Build bin/pequod, bin/pequod-applier, bin/pequod-manager and bin/pequod-actions
	$(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

# Packages whose tests use the test cluster, the longest first. It is built while the other tests run.
CLUSTER_PKGS := ./applier/controller ./cmd/pequod-manager ./cmd/pequod-actions ./cmd/pequod-applier ./test/docs ./cli/clusterscripts ./cli/ui/... ./operator/... \
	./applier ./applier/rbac ./inventory/configmap ./inventory/stored ./actions/effect ./applier/cause ./applier/localapply ./applier/program ./config/plugins ./test/...

# How many of these packages are tested at once. Their tests mostly wait, but control planes need
# memory: three packages have up to twelve of them.
CLUSTER_JOBS ?= 3

test: ## Run all tests, and the race detector if there is a C compiler
	@$(GO) run ./test/buildcluster -kubectl >/dev/null & build=$$!; failed=0; set -x; \
		$(GO) test $$($(GO) list ./... | grep -vxF "$$($(GO) list $(CLUSTER_PKGS))") || failed=1; wait $$build || exit 1; \
		$(GO) test -p $(CLUSTER_JOBS) -timeout=60m $(CLUSTER_PKGS) || failed=1; exit $$failed
	cd test/cluster && $(GO) test ./...
	@if [ "$$(CGO_ENABLED= $(GO) env CGO_ENABLED)" = 1 ]; then \
		set -x; CGO_ENABLED=1 $(GO) test -race $(RACE_PKGS); \
	else \
		echo 'no C compiler: the race detector was left out'; \
	fi

# The minor versions of Kubernetes that make compat tests with: make compat COMPAT=1.37
COMPAT ?= 1.34 1.35 1.36 1.37

compat: ## Run the tests that need a cluster on every version of Kubernetes in COMPAT
	@failed=; for version in $(COMPAT); do \
		echo "Kubernetes $$version"; export PEQUOD_KUBERNETES=$$version; $(GO) run ./test/buildcluster -kubectl >/dev/null && \
			$(GO) test -p $(CLUSTER_JOBS) -timeout=60m $(CLUSTER_PKGS) || failed="$$failed $$version"; \
	done; test -z "$$failed" || { echo "failed with Kubernetes:$$failed"; exit 1; }

# SOAK is how often pequod apply and its library are killed. The applier is killed
# half as often, its leader changes three times for every ten kills, and five graphs
# are created and deleted each time. The manager is killed as often as the applier.
SOAK ?= 200

soak: ## Kill the programs repeatedly under load, faults and hostile graphs, and check the results
	PEQUOD_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout=3h -run '^Test(Killed|Leaders|ServerOutage|HostileTenant|Rollout)$$' ./cli/clusterscripts ./applier ./cmd/pequod-applier ./cmd/pequod-manager
	PEQUOD_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout=2h -run '^Test(Faults|Hangs|NoGrowth|ScaleEvents|KilledOnce|WorkflowKilledOnce|TerraformKilledOnce|MonitorLoad|ActionLoad|ExecutorLoad|HangingLoad|EventLoad|ReceiverLoad|HistoryLoad|ArtifactFlood|InstanceLoad|InstanceFairness)$$' ./applier/controller ./cmd/pequod-manager ./cmd/pequod-actions
	PEQUOD_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout=4h ./test/rights
	PEQUOD_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout=6h ./test/mutants

# PROCESSORS is the part of a processor that make slow leaves everything.
PROCESSORS ?= 0.5

slow: ## Run the demonstration and the tutorial on a part of a processor, which needs root
	$(GO) run ./test/buildcluster -kubectl >/dev/null
	$(GO) run ./test/slow $(PROCESSORS) $(GO) test -count=1 -v -timeout=1h -run '^TestDemo$$' ./test/demo
	$(GO) run ./test/slow $(PROCESSORS) $(GO) test -count=1 -v -timeout=1h -run '^TestDocs$$/^docs$$/^tutorial.md$$' ./test/docs

# FUZZTIME is the time of each fuzz target, and FUZZ selects targets:
# make fuzz FUZZ=FuzzRead FUZZTIME=10m
FUZZTIME ?= 30s
FUZZ     ?= ^Fuzz
# Packages with fuzz targets.
FUZZ_PKGS = $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u)

# Inputs that fail are written to testdata/fuzz of the package: commit them with the fix, and
# make test tries them again.
fuzz: ## Look for inputs that break parsers, FUZZTIME for each target
	@failed=; for dir in $(FUZZ_PKGS); do \
		targets=$$($(GO) test -list '$(FUZZ)' "$$dir") || failed="$$failed $$dir"; \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "$$dir $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$dir" || failed="$$failed $$target"; \
		done; \
	done; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

e2e: ## Build OpenTofu, Flux and Argo CD, which takes long the first time, and test with them
	cd test/tofu && $(GO) build -ldflags '-s -w' -o ../../bin/tofu github.com/opentofu/opentofu/cmd/tofu
	PEQUOD_E2E=1 $(GO) test -count=1 -v -timeout=30m -run '^TestTerraform' ./cmd/pequod-actions
	cd test/gitops/flux && $(GO) build -ldflags '-s -w' -o ../../../bin/ tool
	cd test/gitops/argocd && $(GO) build -ldflags '-s -w' -o ../../../bin/ . tool
	PEQUOD_E2E=1 $(GO) test -count=1 -v -timeout=1h ./test/gitops

# Packages whose tests have golden files, and rewrite them with -update.
GOLDEN_PKGS = $$(git grep -l 'flag.Bool("update"' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's,^,./,')

goldens: ## Rewrite the expected output of all tests; review the diff afterwards
	$(GO) test -count=1 $(GOLDEN_PKGS) -update

lint: ## Run go vet and staticcheck
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	cd test/cluster && $(GO) vet ./...

generate: ## Regenerate the references of commands and API, deep copies, CRDs and the table of kinds
	$(GO) tool controller-gen object paths=./api/...
	@$(MAKE) --no-print-directory manifests
	$(GO) run ./render/kinds/gen render/kinds/builtin.txt
	$(GO) run ./test/consequences/gen
	$(GO) run ./operator/roles/gen operator/roles/embedded.json
	$(GO) run ./cli/docgen docs/cmd
	$(GO) tool crd-ref-docs --source-path=api/v1alpha1 --config=api/reference.yaml --renderer=markdown --output-path=docs/api.md --log-level=error

# The modules of test/gitops and test/peers are left out: to check them, go mod tidy downloads what the
# tests of all their dependencies need.
verify: lint ## Check formatting, modules, the shape of the tree and generated files
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || \
		{ echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	$(GO) mod tidy -diff
	cd test/cluster && $(GO) mod tidy -diff
	cd test/helm/tool && $(GO) mod tidy -diff
	cd test/action/tool && $(GO) mod tidy -diff
	cd test/flux && $(GO) mod tidy -diff
	cd test/argocd && $(GO) mod tidy -diff
	cd test/tofu && $(GO) mod tidy -diff
	$(GO) mod verify
	$(GO) test -count=1 ./test/tree
	@$(MAKE) --no-print-directory generate
	@git diff --exit-code -- $(GENERATED) || \
		{ echo "the files above differ from what 'make generate' writes: commit them"; exit 1; }
	@new=$$(git ls-files --others --exclude-standard -- $(GENERATED)); test -z "$$new" || \
		{ echo "'make generate' wrote files that aren't committed:"; echo "$$new"; exit 1; }

# The versions that .github/workflows/release.yaml uses. They are no dependencies of the module,
# because they need hundreds of others.
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.12.7
KO         := github.com/google/ko@v0.19.1
SYFT       := github.com/anchore/syft/cmd/syft@v1.57.1

# PLATFORMS=all makes release-check build the archives and images of all platforms.
PLATFORMS ?= linux/amd64

release-check: ## Make a release without publishing it, make it again, and check what it consists of
	for tool in $(GORELEASER) $(KO) $(SYFT); do GOBIN=$(CURDIR)/bin $(GO) install $$tool || exit 1; done
	PEQUOD_RELEASE=$(PLATFORMS) $(GO) test -count=1 -v -timeout=80m ./test/release

size: ## Print the lines of product code by room
	@$(GO) test -count=1 -v -run '^TestLines$$' ./test/tree -table

# GOVULNCHECK is not a tool of go.mod, because its dependencies are not ours.
GOVULNCHECK ?= golang.org/x/vuln/cmd/govulncheck@v1.9.0

vuln: ## Look up known vulnerabilities of the programs and of the Go toolchain
	$(GO) run $(GOVULNCHECK) ./cmd/...

notices: ## Write the licenses of all linked modules to THIRD_PARTY_NOTICES.txt
	$(GO) run ./test/notices > THIRD_PARTY_NOTICES.txt

costs: ## Print the size and the start-up time of each linked module
	$(GO) run ./test/costs

pictures: ## Make the pictures of the documents from real runs; screenshots need Chromium
	$(GO) test -count=1 ./test/pictures -update

parity: ## Compare generated CRDs with CUE, form by form
	cd crdgen && $(GO) test -count=1 -run '^TestParity$$' -table

consequences: ## Measure the consequences of changes on the test cluster, and regenerate their rules
	$(GO) test -count=1 -timeout=30m -parallel=24 -run '^TestMeasure$$' ./test/consequences -measure
	$(GO) run ./test/consequences/gen
	$(GO) test -count=1 -v -run '^TestForecast$$' ./test/consequences

bench: ## Run the benchmarks, which print ratios
	$(GO) test -run '^$$' -bench '$(BENCH)' $(BENCHFLAGS) $(BENCH_PKGS)

# BENCH_COMMAND are the benchmarks of make bench-history: make bench-history BENCH_COMMAND='make bench-cluster'
BENCH_COMMAND ?= $(MAKE) --no-print-directory bench BENCH='$(BENCH)' BENCH_PKGS='$(BENCH_PKGS)'

bench-history: ## Run benchmarks, and add their results to docs/benchmarks.md
	$(GO) run ./test/benchhistory docs/benchmarks.json docs/benchmarks.md $(BENCH_COMMAND)

bench-cluster: ## Compare the applier with a bare client on a control plane
	$(GO) run ./test/bench $(BENCH_CLUSTER_FLAGS)

# PEERS_FLAGS are flags of that comparison: make peers PEERS_FLAGS='-peers=kro -rounds=1'
PEERS_FLAGS ?=

peers: ## Compare Pequod with kubectl, Helm, Flux and kro, and write the figures into docs/comparison.md
	$(GO) run ./test/peers $(PEERS_FLAGS)

cluster: ## Run a Kubernetes control plane until Ctrl-C
	@binary=$$($(GO) run ./test/buildcluster) && exec "$$binary" $(CLUSTER_FLAGS)

registry: ## Run an empty registry on localhost:5001 until Ctrl-C
	@$(GO) run ./test/registry

demo-cluster: ## Demonstrate everything on such a cluster; DEMO_FLAGS=-keep keeps it running
	@$(GO) build -o bin/demo-cluster ./test/demo && exec bin/demo-cluster $(DEMO_FLAGS)

demo-actions: ## Demonstrate Actions and Monitors on such a cluster, in the same way
	@$(GO) build -o bin/demo-cluster ./test/demo && exec bin/demo-cluster -actions $(DEMO_FLAGS)

testcluster: ## Build that control plane, which takes minutes the first time
	@$(GO) run ./test/buildcluster -kubectl >/dev/null
