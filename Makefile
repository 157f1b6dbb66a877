# The commands of the project; `make help` lists them.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

MODULES  := proto platform devkit services gateway-a gateway-b docs deploy/standalone test
PACKAGES := $(MODULES:%=./%/...)
PARTS    := services/auth/cmd/auth services/customer/cmd/customer services/booking/cmd/booking services/pass/cmd/pass services/webhook/cmd/webhook services/admin/cmd/admin gateway-a/cmd/gateway-a gateway-b/cmd/gateway-b
TOOLS    := .cache/tools
# etcd and Kubernetes, of the versions in test/chart/go.mod.
KUBERNETES := .cache/kubernetes
export PATH := $(CURDIR)/$(TOOLS):$(PATH)

# TESTFLAGS are added to every go test: make test TESTFLAGS='-run Booking'.
TESTFLAGS ?=

# VERSION is what images are called.
VERSION ?= $(shell git describe --tags --always --dirty)

.PHONY: help
help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

.PHONY: run
run: build $(if $(DATABASE_URL),,postgres) ## build and run the whole platform here; Ctrl-C ends it (PORT_BASE, DATA_DIR, DATABASE_URL)
	@exec bin/standalone

.PHONY: demo
demo: ## against what make run runs: buy and book, and see the webhooks arrive and verify (DATA_DIR)
	@go build -o bin/ ./services/reservectl/cmd/reservectl
	@bin/reservectl demo --credentials $(or $(DATA_DIR),.run)/credentials.json

.PHONY: build
build: ## build bin/standalone, bin/reservectl and every part
	@mkdir -p bin
	@go build -o bin/ ./deploy/standalone ./services/reservectl/cmd/reservectl $(PARTS:%=./%)

.PHONY: test
test: vet unit end-to-end ## before a push: format, vet and all tests but the slow ones, on a fresh machine too

# The slow tests are those called TestSlow…
.PHONY: test-slow
test-slow: race end-to-end-slow ## what CI runs in addition: the slow tests, and the packages with the race detector

# UNITS are the packages of the product, SLOW_TESTS those of test/ that have slow tests.
UNITS      := $(filter-out ./test/%,$(PACKAGES))
SLOW_TESTS := $(addprefix ./,$(sort $(dir $(shell grep -rl --include='*_test.go' '^func TestSlow' test))))

.PHONY: unit
unit: postgres ## the tests of the packages
	go test -vet=off -timeout 15m -skip '^TestSlow' $(TESTFLAGS) $(UNITS)

.PHONY: race
race: postgres ## the tests of the packages with the race detector, slow ones too
	go test -race -vet=off -timeout 25m $(TESTFLAGS) $(UNITS)

# Go's cache of test results does not see the programs that the tests of test/ run.
.PHONY: end-to-end
end-to-end: postgres chromium ## the tests of test/, which run the programs
	go test -vet=off -timeout 15m -count=1 -skip '^TestSlow' $(TESTFLAGS) ./test/...

.PHONY: end-to-end-slow
end-to-end-slow: postgres chromium ## the slow tests of test/: long faults, every page in several fonts, linters
	go test -vet=off -timeout 25m -count=1 -run '^TestSlow' $(TESTFLAGS) $(SLOW_TESTS)

.PHONY: check
check: generated lint ## before a commit: generated code is current, linters pass

.PHONY: generate
generate: $(TOOLS)/generators ## generate Go from proto/
	buf lint
	buf generate

.PHONY: generated
generated: generate
	@git diff --exit-code --stat -- proto/gen || { echo "proto/gen is not what proto/ generates: commit the output of make generate"; exit 1; }
	@test -z "$$(git status --porcelain -- proto/gen)" || { echo "proto/gen has files that are not committed"; exit 1; }

.PHONY: breaking
breaking: $(TOOLS)/generators ## the protos are compatible with those of AGAINST (default: the last commit)
	buf breaking --against '.git#ref=$(or $(AGAINST),HEAD)'

.PHONY: lint
lint: vet $(TOOLS)/linters ## format, vet and the linters of .golangci.yml
	golangci-lint run $(filter-out ./proto/...,$(PACKAGES))

# The linters of OpenAPI, of the versions in tools/openapi; npm fetches them once.
OPENAPI := .cache/openapi
$(OPENAPI)/installed: $(wildcard tools/openapi/package*.json) tools/openapi/.npmrc
	@mkdir -p $(OPENAPI)
	@cp $^ $(OPENAPI)/
	npm ci --prefix $(OPENAPI) --loglevel error
	@touch $@

# The OpenAPI descriptions: of both interfaces, and of the webhooks.
DESCRIPTIONS := gateway-a/openapi/openapi.yaml gateway-b/openapi/openapi.yaml services/webhook/openapi/openapi.yaml

.PHONY: lint-openapi
lint-openapi: $(OPENAPI)/installed ## check the OpenAPI descriptions with Redocly CLI and Spectral (needs npm)
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(OPENAPI)/node_modules/.bin/redocly lint --config tools/openapi/redocly.yaml $(DESCRIPTIONS)
	$(OPENAPI)/node_modules/.bin/spectral lint --fail-severity=warn --ruleset tools/openapi/spectral.yaml $(DESCRIPTIONS)

.PHONY: vendor
vendor: ## copy the scripts of the documentation site from npm, at the versions in tools/vendor.sh
	@tools/vendor.sh

.PHONY: vet
vet: ## format, and what go vet finds in each module without the workspace
	@test -z "$$(gofmt -l $(MODULES) | grep -v proto/gen/ | tee /dev/stderr)"
	@for m in $(MODULES); do echo "go vet $$m"; GOWORK=off go vet -C $$m ./...; done

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each (default 10s)
	@for p in $$(grep -rlE '^func Fuzz' --include='*_test.go' $(MODULES) | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9]+' $$p/*_test.go | sed 's/func //'); do \
	    echo "$$p $$f"; go test ./$$p -run '^$$' -fuzz "^$$f$$" -fuzztime $(or $(FUZZTIME),10s); done; done

.PHONY: bench
bench: postgres ## what requests cost, as multiples of a hand-written process over the same databases, and what webhooks do, in ROUNDS (default 8)
	go test -run '^$$' -bench . -benchtime $(or $(ROUNDS),8)x -timeout 20m ./test/load

.PHONY: images
images: ## build the image of every part, as VERSION (default: the commit)
	VERSION=$(VERSION) REVISION=$$(git rev-parse HEAD) docker compose --profile tools build

.PHONY: compose-test
compose-test: postgres $(addprefix .cache/compose/,docker-compose nats-server otelcol) ## docker-compose.yml in a Docker of its own: conformance, scaling, crashes (as root on Linux; minutes)
	@test/compose/install.sh
	COMPOSE_TEST=1 go test -count=1 -v -timeout 90m ./test/compose

.PHONY: sbom
sbom: build .cache/sbom/cyclonedx-gomod ## write a bill of materials (CycloneDX) of every program to bin/sbom
	@mkdir -p bin/sbom
	@for p in $(notdir $(PARTS)) reservectl standalone; do .cache/sbom/cyclonedx-gomod bin -json -version "$(VERSION)" -output bin/sbom/$$p.cdx.json bin/$$p; done

.PHONY: upgrade-test
upgrade-test: postgres ## replace the previous release by this one under load, a process at a time, and go back
	go test -count=1 -timeout 20m $(TESTFLAGS) -run TestRollingUpgrade ./test/operations -upgrade -v

.PHONY: restore-drill
restore-drill: postgres ## back up a platform under load, destroy it, restore it, and compare; a restore to a moment
	go test -count=1 -timeout 20m $(TESTFLAGS) -run 'TestRestoreDrill|TestRestoreToMoment' ./test/operations -drill -v

.PHONY: previous-release
previous-release: ## after a release: note its COMMIT (default HEAD) as the one that the next is upgraded from
	@deploy/previous-release.sh $(or $(COMMIT),HEAD)

.PHONY: rules
rules: ## check and test the alerts with promtool (Debian: prometheus)
	promtool check config deploy/observability/prometheus/prometheus.yml
	promtool test rules deploy/observability/prometheus/tests/*.yml

.PHONY: postgres
postgres:
	@deploy/install-postgres.sh

.PHONY: chromium
chromium:
	@deploy/install-chromium.sh

.PHONY: chart
chart: build $(TOOLS)/helm ## the chart for Kubernetes: lint it, render it, hold it to what Kubernetes and the parts take
	CGO_ENABLED=0 GOWORK=off go test -C test/chart -count=1 -timeout 20m .

.PHONY: chart-test
chart-test: $(TOOLS)/helm $(KUBERNETES)/kube-controller-manager ## install, upgrade and uninstall the chart on an API server (built once, long)
	CGO_ENABLED=0 GOWORK=off go test -C test/chart -count=1 -timeout 30m -run TestInstall . -cluster $(CURDIR)/$(KUBERNETES) -v

.PHONY: cluster-test
cluster-test: postgres .cache/compose/docker-compose .cache/compose/nats-server $(TOOLS)/helm $(KUBERNETES)/kube-controller-manager $(KUBERNETES)/kubelet $(KUBERNETES)/dns ## the chart and the images on a real node: conformance, crashes, upgrade, rollback (as root on Linux; built once, long)
	@test/compose/install.sh
	@test/cluster/install.sh
	@mkdir -p bin
	go build -o bin/ ./services/reservectl/cmd/reservectl
	COMPOSE_TEST=1 SAVE_IMAGES=$(CURDIR)/$(KUBERNETES)/images.tar go test -count=1 -v -timeout 60m -run TestSave ./test/compose
	CLUSTER_TEST=1 go test -count=1 -v -timeout 60m ./test/cluster

.PHONY: chart-files
chart-files: ## copy the rules and dashboards of deploy/observability into the chart
	@cp deploy/observability/prometheus/{alerts,recording}.yml deploy/helm/reservation/files/rules/
	@cp deploy/observability/grafana/dashboards/*.json deploy/helm/reservation/files/dashboards/

.PHONY: pictures
pictures: postgres chromium ## take the pictures of the dashboard in docs/pictures
	@mkdir -p docs/pictures
	go test -count=1 -timeout 10m -run TestSlowPictures ./test/browser -pictures $(CURDIR)/docs/pictures

.PHONY: clean
clean: ## remove what was built; data in .run stays
	rm -rf bin .cache

# The pinned generators and linters of tools/go.mod. The linters take minutes to
# build, and are not part of what CI runs.
$(TOOLS)/linters: TOOL := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/generators: TOOL := $(addprefix google.golang.org/,grpc/cmd/protoc-gen-go-grpc protobuf/cmd/protoc-gen-go) \
	$(addprefix github.com/,bufbuild/buf/cmd/buf grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway)
$(TOOLS)/linters $(TOOLS)/generators: tools/go.mod tools/go.sum
	@echo "building the $(notdir $@) of tools/go.mod (minutes, once)"
	@mkdir -p $(TOOLS)
	@GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) go install -C tools $(TOOL)
	@touch $@

# What make compose-test runs, at the versions of tools/*/go.mod and of the
# workspace; the first and the last take minutes to build.
.cache/compose/docker-compose: tools/compose/go.mod tools/compose/go.sum
	@mkdir -p $(@D)
	GOWORK=off GOBIN=$(CURDIR)/$(@D) go install -C tools/compose -trimpath -ldflags '-s -w' github.com/docker/compose/v2/cmd
	@mv $(@D)/cmd $@

.cache/compose/nats-server: go.work.sum
	@mkdir -p $(@D)
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $@ github.com/nats-io/nats-server/v2

.cache/compose/otelcol: tools/otelcol/main.go tools/otelcol/go.mod tools/otelcol/go.sum
	CGO_ENABLED=0 GOWORK=off go build -C tools/otelcol -trimpath -ldflags '-s -w' -o $(CURDIR)/$@ .

.cache/sbom/cyclonedx-gomod: tools/sbom/go.mod tools/sbom/go.sum
	GOWORK=off GOBIN=$(CURDIR)/$(@D) go install -C tools/sbom github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

$(TOOLS)/helm:
	@echo "building helm (minutes, once)"
	@mkdir -p $(TOOLS)
	@GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) go install helm.sh/helm/v3/cmd/helm@v3.22.0

$(KUBERNETES)/kube-controller-manager: BUILD := go.etcd.io/etcd/server/v3 $(addprefix k8s.io/kubernetes/cmd/,kube-apiserver kube-controller-manager)
$(KUBERNETES)/kubelet: BUILD := $(addprefix k8s.io/kubernetes/cmd/,kubelet kube-proxy kube-scheduler kubectl)
$(KUBERNETES)/kube-controller-manager $(KUBERNETES)/kubelet: test/chart/go.mod
	@echo "building $(BUILD) (long, once)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 GOWORK=off go build -C test/chart -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v1.34.4' -o $(CURDIR)/$(@D)/ $(BUILD)
	@touch $@

$(KUBERNETES)/dns: tools/dns/go.mod tools/dns/go.sum tools/dns/main.go
	@echo "building the DNS server of a cluster (minutes, once)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 GOWORK=off go build -C tools/dns -ldflags '-s -w' -o $(CURDIR)/$@ .
