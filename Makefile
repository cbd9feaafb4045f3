# What every change is made with. It needs Go, git and make; with a C compiler
# the race detector runs too. Tools are pinned in go.mod.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/pequod-io/pequod/internal/version.linked=$(VERSION)

# Packages whose code runs concurrently or shares files between processes: the
# race detector makes CUE five to ten times slower, so it isn't run on all.
RACE_PKGS ?= ./render/... ./modules/... ./cli/outdir/... ./cli/spool/...

# BENCH selects benchmarks, BENCHFLAGS tunes them: make bench BENCH=Render.
BENCH      ?= .
BENCHFLAGS ?= -benchtime=1x -timeout=30m

# Flags of the benchmark on a cluster: make bench-cluster BENCH_CLUSTER_FLAGS=-rounds=21
BENCH_CLUSTER_FLAGS ?=

# Flags of the test cluster: make cluster CLUSTER_FLAGS=-data-dir=/tmp/mine
# keeps its data there; -nodes and -port are others.
CLUSTER_FLAGS ?=

# Flags of make demo-cluster: -keep leaves everything running until Ctrl-C.
DEMO_FLAGS ?=

# What `make generate` writes, and nothing else does.
GENERATED := docs/cmd 'api/*/zz_generated.*.go' render/kinds/builtin.txt 'config/crd/*_*.yaml' config/applier.yaml config/samples/resourcegraph.yaml config/samples/roles.yaml

.DEFAULT_GOAL := help
.PHONY: help manifests install run deploy undeploy demo build test soak lint generate verify bench bench-cluster cluster demo-cluster testcluster parity

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

manifests: ## Write what is installed in clusters anew: the CRDs, config/applier.yaml and the samples
	$(GO) tool controller-gen crd paths=./api/v1alpha1 output:crd:dir=config/crd
	$(GO) run ./config/gen config/applier config/applier.yaml
	$(GO) run ./cmd/pequod render -f testdata/demo/app.yaml -p testdata/demo/transform.yaml > config/samples/resourcegraph.yaml
	$(GO) run ./cmd/pequod rbac generate -f config/samples/resourcegraph.yaml > config/samples/roles.yaml

# These four use the cluster of the current kubeconfig. DEPLOY_FLAGS are those of
# pequod install: make deploy DEPLOY_FLAGS=--image=registry.example.com/applier:v1
DEPLOY_FLAGS ?=
# Flags of the applier: make run RUN_FLAGS=--zap-log-level=debug
RUN_FLAGS ?=

install: ## Install the CRDs in the cluster
	$(GO) run ./cmd/pequod install --crds-only

run: ## Run the applier here, for the cluster
	$(GO) run ./cmd/pequod-applier --zap-encoder=console $(RUN_FLAGS)

deploy: ## Install the applier and all that it needs in the cluster
	$(GO) run ./cmd/pequod install $(DEPLOY_FLAGS)

undeploy: ## Remove the applier from the cluster, and nothing that it manages
	$(GO) run ./cmd/pequod uninstall --yes

demo: ## Print a real CRD and a real ResourceGraph
	$(GO) run ./cmd/pequod crd generate -p embedded:webservice
	$(GO) run ./cmd/pequod render -f testdata/demo/app.yaml -p testdata/demo/transform.yaml

build: ## Build bin/pequod and bin/pequod-applier
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

# Packages whose tests talk to the test cluster. Its build runs beside the other
# tests, which don't wait for it.
CLUSTER_PKGS := ./test/... ./inventory/configmap ./inventory/stored ./applier ./applier/cause ./applier/controller ./applier/rbac ./cmd/pequod-applier ./cli/clusterscripts

test: ## Run every test, and the race detector where a C compiler is at hand
	@set -e; $(MAKE) --no-print-directory testcluster & build=$$!; \
		set -x; $(GO) test $$($(GO) list ./... | grep -vxF "$$($(GO) list $(CLUSTER_PKGS))"); wait $$build; \
		$(GO) test -timeout=30m $(CLUSTER_PKGS)
	cd test/cluster && CGO_ENABLED=0 $(GO) test ./...
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ]; then \
		set -x; $(GO) test -race $(RACE_PKGS); \
	else \
		echo 'no C compiler: the race detector was left out'; \
	fi

# SOAK is how often pequod apply, and the library beneath it, are killed; the
# applier is half as often, its leader changes three times for every ten, and five
# graphs come and go each time.
SOAK ?= 200

soak: ## Kill pequod apply and the applier again and again under load and faults, and look what comes of it
	PEQUOD_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout=3h -run '^Test(Killed|Leaders|ServerGoes)$$' ./cli/clusterscripts ./applier ./cmd/pequod-applier
	PEQUOD_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout=1h -run '^Test(Faults|Hangs|NothingStays)$$' ./applier/controller

lint: ## Run go vet and staticcheck
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	cd test/cluster && CGO_ENABLED=0 $(GO) vet ./...

generate: ## Write the command reference, the deep copies, the CRDs and the table of kinds anew
	$(GO) tool controller-gen object paths=./api/...
	@$(MAKE) --no-print-directory manifests
	$(GO) run ./render/kinds/gen render/kinds/builtin.txt
	$(GO) run ./cli/docgen docs/cmd

verify: lint ## Fail on anything unformatted, untidy, unchecked or not generated anew
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || \
		{ echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	$(GO) mod tidy -diff
	cd test/cluster && $(GO) mod tidy -diff
	$(GO) mod verify
	$(GO) test -count=1 ./test/tree
	@$(MAKE) --no-print-directory generate
	@git diff --exit-code -- $(GENERATED) || \
		{ echo "the files above differ from what 'make generate' writes: commit them"; exit 1; }
	@new=$$(git ls-files --others --exclude-standard -- $(GENERATED)); test -z "$$new" || \
		{ echo "'make generate' wrote files that aren't committed:"; echo "$$new"; exit 1; }

parity: ## Hold generated CRDs against CUE, form by form
	cd crdgen && $(GO) test -count=1 -run '^TestParity$$' -table

bench: ## Measure, in ratios to what is measured beside it
	$(GO) test -run '^$$' -bench '$(BENCH)' $(BENCHFLAGS) ./...

bench-cluster: ## Measure the applier against a bare program, on one control plane
	$(GO) run ./test/bench $(BENCH_CLUSTER_FLAGS)

cluster: ## Run a Kubernetes control plane until Ctrl-C; CLUSTER_FLAGS tune it
	@binary=$$($(GO) run ./test/buildcluster) && exec "$$binary" $(CLUSTER_FLAGS)

demo-cluster: ## Show it all on such a cluster, to a WebService that is ready; DEMO_FLAGS=-keep keeps it
	@$(GO) build -o bin/demo-cluster ./test/demo && exec bin/demo-cluster $(DEMO_FLAGS)

testcluster: ## Build that control plane, which takes minutes the first time
	@$(GO) run ./test/buildcluster -kubectl >/dev/null
