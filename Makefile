# taskfleet: the verbs of the project. `make help` lists them.

GO      ?= go
BIN     := bin
PROGRAMS := producer worker taskctl ydbembed
# The race detector needs a C compiler; without one the same tests run without it.
RACE    := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)
# Packages where goroutines meet: they are tested under the race detector.
CONCURRENT := ./pkg/... ./internal/coord/... ./internal/fleettest/... ./internal/lifecycle/... ./internal/invariants/... ./internal/ydbembed/...
FUZZTIME ?= 30s

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the programs into bin/
	@mkdir -p $(BIN)
	$(GO) build -o $(BIN)/ $(addprefix ./cmd/,$(PROGRAMS))

.PHONY: demo
demo: build ## run the main job: a fleet on this machine that loses a worker and no task
	@$(BIN)/taskctl demo $(ARGS)

.PHONY: chaos
chaos: ## run a fleet under faults for three minutes, and check its history (ARGS="--duration 10m")
	@$(GO) build -o $(BIN)/lab/ ./internal/lab/cmd/chaos
	@$(BIN)/lab/chaos $(ARGS)

.PHONY: test
test: build ## run all tests, the concurrent packages under the race detector
	@[ -n "$(RACE)" ] || echo "no C compiler found: running without the race detector"
	$(GO) test $(RACE) $(CONCURRENT)
	$(GO) test $$($(GO) list ./... | grep -vxF "$$($(GO) list $(CONCURRENT))")
	cd conformance && $(GO) test ./...
	cd tools/sqs && $(GO) test ./...

.PHONY: conform
conform: ## run the official SDK's own integration tests against ydbembed
	cd conformance && $(GO) test -v ./...

.PHONY: fuzz
fuzz: ## fuzz every decoder and parser, FUZZTIME each
	@set -e; $(GO) list ./... | while read -r pkg; do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: mutants
mutants: ## break the code line by line, and check that the tests notice (ARGS="-run name")
	$(GO) run ./tools/mutants $(ARGS)

.PHONY: bench
bench: ## measure: Go benchmarks, enqueue and drain on an embedded server (ARGS="drain --tasks 1000": only that)
	@$(GO) build -o $(BIN)/lab/ ./internal/lab/cmd/bench
ifdef ARGS
	@$(BIN)/lab/bench $(ARGS)
else
	$(GO) test -run '^$$' -bench . -benchmem ./internal/... ./pkg/...
	$(BIN)/lab/bench enqueue
	$(BIN)/lab/bench drain
endif

.PHONY: lint
lint: ## check formatting and vet
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-clean:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	cd conformance && $(GO) vet ./...
	cd tools/sqs && $(GO) vet ./...

.PHONY: generate
generate: ## write what is generated: dashboards, lists of metrics and flags
	$(GO) test ./pkg/metrics -run TestReferenceIsUpToDate -update
	$(GO) test ./cmd/taskctl/internal/reference -update
	cd deploy/grafana && $(GO) run .

.PHONY: verify-tools
verify-tools: ## install what verify needs, as root on Debian; else say what it is
	@command -v promtool >/dev/null && command -v prometheus >/dev/null && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus >/dev/null; \
	else \
		echo "promtool and prometheus are missing: install Prometheus (Debian: apt-get install prometheus)" >&2; exit 1; \
	fi

.PHONY: verify
verify: verify-tools ## check what is shipped for operation: rules, dashboards, image, compose, Terraform
	promtool check rules deploy/prometheus/rules.yml
	promtool test rules deploy/prometheus/rules_test.yml
	promtool check config --syntax-only deploy/compose/prometheus.yml
	$(GO) test -count=1 ./cmd/taskctl/internal/reference
	cd deploy/grafana && $(GO) vet ./... && $(GO) test -count=1 ./...
	cd deploy/verify && $(GO) vet ./... && $(GO) test -count=1 ./...
	deploy/verify/terraform.sh
	$(GO) vet -tags verify ./internal/lab/observed
	$(GO) test -tags verify -count=1 ./internal/lab/observed

.PHONY: fix
fix: ## format the sources
	gofmt -w $$(git ls-files '*.go')

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)
