# The commands for working on the platform. `make help` lists them.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

MODULES  := proto platform devkit services gateway-a gateway-b docs deploy/standalone test
PACKAGES := $(MODULES:%=./%/...)
PARTS    := services/auth/cmd/auth services/customer/cmd/customer services/booking/cmd/booking services/pass/cmd/pass services/subscription/cmd/subscription services/media/cmd/media services/reports/cmd/reports services/webhook/cmd/webhook services/admin/cmd/admin gateway-a/cmd/gateway-a gateway-b/cmd/gateway-b
TOOLS    := .cache/tools
# etcd and Kubernetes, in the versions of test/chart/go.mod.
KUBERNETES := .cache/kubernetes
export PATH := $(CURDIR)/$(TOOLS):$(PATH)

# The program that makes releases.
RELEASE := GOWORK=off go run -C tools/release .

# TESTFLAGS is added to every go test: make test TESTFLAGS='-run Booking'.
TESTFLAGS ?=

# VERSION is the tag of the images.
VERSION ?= $(shell git describe --tags --always --dirty)

.PHONY: help
help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

.PHONY: run
run: build $(if $(DATABASE_URL),,postgres) ## build and run the platform on this machine; stop it with Ctrl-C (PORT_BASE, DATA_DIR, DATABASE_URL)
	@exec bin/standalone

.PHONY: demo
demo: ## while make run is running: book, buy, and receive the webhooks (DATA_DIR)
	@go build -o bin/ ./services/reservectl/cmd/reservectl
	@bin/reservectl demo --credentials $(or $(DATA_DIR),.run)/credentials.json

.PHONY: build
build: ## build bin/standalone, bin/reservectl, bin/directory and every service
	@mkdir -p bin
	@go build -o bin/ ./deploy/standalone ./services/reservectl/cmd/reservectl ./services/directory/cmd/directory $(PARTS:%=./%)

.PHONY: test
test: vet unit end-to-end ## before a push: check format, vet, and run all tests except the slow ones; works on a fresh machine

.PHONY: test-race
test-race: vet race end-to-end ## what CI runs: make test, with the race detector in the package tests

# UNITS are the packages outside test/. SLOW_TESTS are the packages in test/ with slow tests.
UNITS      := $(filter-out ./test/%,$(PACKAGES))
SLOW_TESTS := $(addprefix ./,$(sort $(dir $(shell grep -rl --include='*_test.go' '^func TestSlow' test))))

.PHONY: unit
unit: postgres ## run the package tests
	go test -vet=off -timeout 15m -skip '^TestSlow' $(TESTFLAGS) $(UNITS)

.PHONY: race
race: postgres ## run the package tests with the race detector, including the slow ones
	go test -race -vet=off -timeout 25m $(TESTFLAGS) $(UNITS)

# -count=1, because Go's test cache does not notice changes in the programs that these
# tests run. The longest package takes five minutes on a developer's machine; the limit allows for one that is
# several times slower.
.PHONY: end-to-end
end-to-end: postgres chromium haproxy ## run the tests in test/, which start the built programs
	go test -vet=off -timeout 40m -count=1 -skip '^TestSlow' $(TESTFLAGS) ./test/...

# The names of slow tests start with TestSlow.
.PHONY: test-slow
test-slow: postgres chromium haproxy ## run the slow tests in test/: long faults, every page in several fonts, client libraries
	go test -vet=off -timeout 25m -count=1 -run '^TestSlow' $(TESTFLAGS) $(SLOW_TESTS)

.PHONY: check
check: generated lint prose release-check ## before a commit: generated code and notices are current, linters pass, texts are plain

.PHONY: prose
prose: ## check the texts: plain English, 120 columns, known words in OpenAPI summaries
	go test -count=1 -run 'TestProse|TestWidth|TestSummaries' ./test/docs

.PHONY: generate
generate: $(TOOLS)/generators ## generate the Go code from proto/
	buf lint
	buf generate

.PHONY: generated
generated: generate
	@git diff --exit-code --stat -- proto/gen || { echo "proto/gen does not match proto/: run make generate and commit the result"; exit 1; }
	@test -z "$$(git status --porcelain -- proto/gen)" || { echo "proto/gen has uncommitted files: commit them"; exit 1; }

.PHONY: client-files
client-files: ## generate the Python client's types and the Postman collections from the OpenAPI descriptions
	go run ./devkit/clientgen

# The generators of the client libraries, in the versions of tools/clients. npm downloads them once.
CLIENTS := .cache/clients
.PHONY: clients
clients: client-files ## generate all that client libraries take from the OpenAPI descriptions (needs npm)
	@mkdir -p $(CLIENTS)
	@cp tools/clients/package*.json tools/clients/.npmrc $(CLIENTS)/
	npm ci --prefix $(CLIENTS) --loglevel error
	tools/clients/generate.sh $(CURDIR)/clients $(CURDIR)/$(CLIENTS)

.PHONY: breaking
breaking: $(TOOLS)/generators ## check that the protos are compatible with those of AGAINST (default: the last commit)
	buf breaking --against '.git#ref=$(or $(AGAINST),HEAD)'

.PHONY: lint
lint: vet $(TOOLS)/linters ## check format, vet, and run the linters of .golangci.yml
	golangci-lint run $(filter-out ./proto/...,$(PACKAGES))

# The OpenAPI linters, in the versions of tools/openapi. npm downloads them once.
OPENAPI := .cache/openapi
$(OPENAPI)/installed: $(wildcard tools/openapi/package*.json) tools/openapi/.npmrc
	@mkdir -p $(OPENAPI)
	@cp $^ $(OPENAPI)/
	npm ci --prefix $(OPENAPI) --loglevel error
	@touch $@

# The OpenAPI descriptions: of both interfaces, and of the webhooks.
DESCRIPTIONS := gateway-a/openapi/openapi.yaml gateway-b/openapi/openapi.yaml services/webhook/openapi/openapi.yaml

.PHONY: lint-openapi
lint-openapi: $(OPENAPI)/installed ## lint the OpenAPI descriptions with Redocly CLI and Spectral (needs npm)
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(OPENAPI)/node_modules/.bin/redocly lint --config tools/openapi/redocly.yaml $(DESCRIPTIONS)
	$(OPENAPI)/node_modules/.bin/spectral lint --fail-severity=warn --ruleset tools/openapi/spectral.yaml $(DESCRIPTIONS)

.PHONY: vendor
vendor: ## copy the scripts of the documentation site and the dashboard from npm, at the versions in tools/vendor.sh
	@tools/vendor.sh

.PHONY: vet
vet: ## check the format, and run go vet in each module without the workspace
	@test -z "$$(gofmt -l $(MODULES) clients/go | grep -v proto/gen/ | tee /dev/stderr)"
	@for m in $(MODULES) clients/go; do echo "go vet $$m"; GOWORK=off go vet -C $$m ./...; done

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 10s)
	@for p in $$(grep -rlE '^func Fuzz' --include='*_test.go' $(MODULES) | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9]+' $$p/*_test.go | sed 's/func //'); do \
	    echo "$$p $$f"; go test ./$$p -run '^$$' -fuzz "^$$f$$" -fuzztime $(or $(FUZZTIME),10s); done; done

.PHONY: bench
bench: postgres ## measure requests, purchases and webhooks as ratios, in ROUNDS (default 4), and print the tables of docs/SCALING.md
	go test -run '^$$' -bench . -benchtime $(or $(ROUNDS),4)x -timeout 60m ./test/load

.PHONY: images
images: ## build the image of every service with the tag VERSION (default: the commit)
	VERSION=$(VERSION) REVISION=$$(git rev-parse HEAD) docker compose --profile tools build

.PHONY: compose-test
compose-test: postgres $(addprefix .cache/compose/,docker-compose nats-server otelcol) ## test docker-compose.yml in a separate Docker daemon: conformance, scaling, crashes (Linux, as root; takes minutes)
	@test/compose/install.sh
	COMPOSE_TEST=1 go test -count=1 -v -timeout 90m ./test/compose

.PHONY: failover-test
failover-test: postgres .cache/compose/nats-server ## kill a PostgreSQL primary, its standby, NATS servers and services under load, and compare (Linux, as root; takes minutes)
	@test/failover/install.sh
	FAILOVER_TEST=1 go test -count=1 -v -timeout 15m ./test/failover

.PHONY: day-test
day-test: postgres ## send the load of a day in an hour, with backups, and compare sizes and costs (Linux; DAY_MINUTES, DAY_BOOKINGS)
	DAY_TEST=1 go test -count=1 -v -timeout 3h ./test/day

.PHONY: sbom
sbom: build .cache/sbom/cyclonedx-gomod ## write a bill of materials (CycloneDX) for every program to bin/sbom
	@mkdir -p bin/sbom
	@for p in $(notdir $(PARTS)) reservectl standalone directory; do .cache/sbom/cyclonedx-gomod bin -json -version "$(VERSION)" -output bin/sbom/$$p.cdx.json bin/$$p; done

# VERSION is a semantic version here, such as v1.2.3, with a section in CHANGELOG.md.
.PHONY: release
release: ## write the release VERSION of the checked-out commit to DIST (default dist): programs, images, chart, SBOMs, checksums
	@$(RELEASE) make '$(VERSION)' '$(abspath $(or $(DIST),dist))'

.PHONY: notices
notices: ## write the licences of the linked modules and the vendored scripts to THIRD_PARTY_NOTICES.txt
	@$(RELEASE) notices

.PHONY: release-check
release-check: ## check that the notices are current, and test the program that makes releases
	@$(RELEASE) notices --check
	GOWORK=off go vet -C tools/release .
	GOWORK=off go test -C tools/release .

.PHONY: release-test
release-test: ## make a release of the last commit twice, in two directories and with two build caches, and compare them (takes long)
	GOWORK=off go test -C tools/release -count=1 -timeout 90m -run TestReproducible -release -v .

.PHONY: upgrade-test
upgrade-test: postgres ## upgrade from the previous release under load, one process at a time, and roll back
	go test -count=1 -timeout 20m $(TESTFLAGS) -run TestRollingUpgrade ./test/operations -upgrade -v

.PHONY: restore-drill
restore-drill: postgres ## back up a platform under load, destroy it, restore it and compare; also restore to a moment
	go test -count=1 -timeout 20m $(TESTFLAGS) -run 'TestRestoreDrill|TestRestoreToMoment' ./test/operations -drill -v

.PHONY: previous-release
previous-release: ## after a release: record its COMMIT (default HEAD) as the release that upgrades start from
	@deploy/previous-release.sh $(or $(COMMIT),HEAD)

.PHONY: rules
rules: ## check and test the alert rules with promtool (Debian package: prometheus)
	promtool check config deploy/observability/prometheus/prometheus.yml
	promtool test rules deploy/observability/prometheus/tests/*.yml

.PHONY: postgres
postgres:
	@deploy/install-postgres.sh

.PHONY: chromium
chromium:
	@deploy/install-chromium.sh

.PHONY: haproxy
haproxy:
	@deploy/install-haproxy.sh

.PHONY: chart
chart: build $(TOOLS)/helm ## lint and render the Helm chart, and validate the result against Kubernetes and the services' settings
	CGO_ENABLED=0 GOWORK=off go test -C test/chart -count=1 -timeout 20m .

.PHONY: chart-test
chart-test: $(TOOLS)/helm $(KUBERNETES)/kube-controller-manager ## install, upgrade and uninstall the chart on a real API server (the first build takes long)
	CGO_ENABLED=0 GOWORK=off go test -C test/chart -count=1 -timeout 30m -run TestInstall . -cluster $(CURDIR)/$(KUBERNETES) -v

.PHONY: cluster-test
cluster-test: postgres .cache/compose/docker-compose .cache/compose/nats-server $(TOOLS)/helm $(KUBERNETES)/kube-controller-manager $(KUBERNETES)/kubelet $(KUBERNETES)/dns ## test the chart and the images on a real node: conformance, crashes, upgrade, rollback (Linux, as root; the first build takes long)
	@test/compose/install.sh
	@test/cluster/install.sh
	@mkdir -p bin
	go build -o bin/ ./services/reservectl/cmd/reservectl
	COMPOSE_TEST=1 SAVE_IMAGES=$(CURDIR)/$(KUBERNETES)/images.tar go test -count=1 -v -timeout 60m -run TestSave ./test/compose
	CLUSTER_TEST=1 go test -count=1 -v -timeout 60m ./test/cluster

.PHONY: chart-files
chart-files: ## copy the rules and dashboards from deploy/observability into the chart
	@cp deploy/observability/prometheus/{alerts,recording}.yml deploy/helm/reservation/files/rules/
	@cp deploy/observability/grafana/dashboards/*.json deploy/helm/reservation/files/dashboards/

.PHONY: pictures
pictures: postgres chromium ## take the screenshots of the dashboard in docs/pictures
	@mkdir -p docs/pictures
	go test -count=1 -timeout 10m -run TestSlowPictures ./test/browser -pictures $(CURDIR)/docs/pictures

.PHONY: clean
clean: ## delete everything that was built; keep the data in .run
	rm -rf bin .cache

# The generators and linters, in the versions of tools/go.mod. Building the linters takes minutes.
$(TOOLS)/linters: TOOL := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/generators: TOOL := $(addprefix google.golang.org/,grpc/cmd/protoc-gen-go-grpc protobuf/cmd/protoc-gen-go) \
	$(addprefix github.com/,bufbuild/buf/cmd/buf grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway)
$(TOOLS)/linters $(TOOLS)/generators: tools/go.mod tools/go.sum
	@echo "building the $(notdir $@) of tools/go.mod (takes minutes, only once)"
	@mkdir -p $(TOOLS)
	@GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) go install -C tools $(TOOL)
	@touch $@

# The programs for make compose-test, in the versions of tools/*/go.mod and of the
# workspace. Building docker-compose and otelcol takes minutes.
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
	@echo "building helm (takes minutes, only once)"
	@mkdir -p $(TOOLS)
	@GOWORK=off GOBIN=$(CURDIR)/$(TOOLS) go install helm.sh/helm/v3/cmd/helm@v3.22.0

$(KUBERNETES)/kube-controller-manager: BUILD := go.etcd.io/etcd/server/v3 $(addprefix k8s.io/kubernetes/cmd/,kube-apiserver kube-controller-manager)
$(KUBERNETES)/kubelet: BUILD := $(addprefix k8s.io/kubernetes/cmd/,kubelet kube-proxy kube-scheduler kubectl)
$(KUBERNETES)/kube-controller-manager $(KUBERNETES)/kubelet: test/chart/go.mod
	@echo "building $(BUILD) (takes long, only once)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 GOWORK=off go build -C test/chart -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v1.34.4' -o $(CURDIR)/$(@D)/ $(BUILD)
	@touch $@

$(KUBERNETES)/dns: tools/dns/go.mod tools/dns/go.sum tools/dns/main.go
	@echo "building the cluster's DNS server (takes minutes, only once)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 GOWORK=off go build -C tools/dns -ldflags '-s -w' -o $(CURDIR)/$@ .
