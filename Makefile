# Targets are what CI calls. `make demo` needs Go and make, `make test` a C compiler too.
GO       ?= go
BIN      := bin
PACKAGES := ./...

.PHONY: build demo demo-ci test vet lint race unit sim mutants fuzz fuzz-ci acceptance bench fmt clean

build: ## both binaries, static
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/ ./cmd/driftless ./cmd/node
	mv $(BIN)/node $(BIN)/driftless-node

demo: build ## three nodes agree on real manifests, live in this terminal
	$(BIN)/driftless demo --manifests examples

demo-ci: build ## the same in plain lines; fails when the fleet does not converge
	$(BIN)/driftless demo --manifests examples --non-interactive

test: fmt vet lint race ## everything that must hold for a change

fmt:
	@out=$$(gofmt -l .); test -z "$$out" || { echo "not gofmt-clean:"; echo "$$out"; exit 1; }

vet:
	$(GO) vet $(PACKAGES)

lint:
	$(GO) tool staticcheck $(PACKAGES)

race: ## all tests, race detector on
	$(GO) test -race -timeout 20m $(PACKAGES)

unit: ## all tests, without the race detector
	$(GO) test $(PACKAGES)

sim: SHELL := bash
sim: ## the simulated fleet: make sim SEEDS=200 BASE=7; its last line is the figures
	@set -o pipefail; $(GO) test ./replicate/loopback/sim -run TestSim_P2 -count 1 -v -seeds $(or $(SEEDS),1000) -base $(or $(BASE),1) -timeout 120m \
		| awk '/^sim: /{figures=$$0; next} {print} END{print figures}'

MUTANTS := no_tie_break xor_leaf key_only_leaf ack_before_sync index_apart clock_forgotten clock_before_check \
	incarnation_reused age_collection cursor_off_by_one late_reply dedupe_by_seq

mutants: ## break the code on purpose, one way after the other: the simulation has to catch each
	$(GO) test ./mutant -run TestMutants -count 1 -v -mutants "$(MUTANTS)" -timeout 60m

fuzz: ## each fuzz target for FUZZTIME, and the worst input that each has seen
	./fuzztest/run $(or $(FUZZTIME),30s)

fuzz-ci: ## the same, 300 inputs each: about a minute
	./fuzztest/run $(or $(FUZZTIME),300x)

acceptance: ## real processes: 20,000 writes through three nodes, a kill -9, NATS away for 20 s
	$(GO) test ./chaos-tests -count 1 -v -timeout 20m -args -writes 20000 -outage 20s

.PHONY: chaos chaos-short
CHAOS := ./chaos-tests/... ./cmd/node

chaos: ## every fault, as root: needs nftables, iproute2, strace, /dev/fuse; make chaos FAULT=power runs some
	$(GO) vet -tags chaos $(CHAOS)
	$(GO) tool staticcheck -tags chaos $(CHAOS)
	$(GO) test -tags chaos ./chaos-tests -run 'TestChaos/faults/$(FAULT)' -count 1 -timeout 90m -args -round full -report $(CURDIR)/$(BIN)/chaos.json; \
		code=$$?; cat $(BIN)/chaos.txt; exit $$code

chaos-short: ## the round that CI runs, in under three minutes
	$(GO) vet -tags chaos $(CHAOS)
	$(GO) tool staticcheck -tags chaos $(CHAOS)
	$(GO) test -tags chaos ./chaos-tests -run TestChaos -count 1 -parallel 4 -timeout 10m -args -round short -report $(CURDIR)/$(BIN)/chaos-short.json; \
		code=$$?; cat $(BIN)/chaos-short.txt; exit $$code

bench: ## what a durable write costs beside bare bbolt, both from one run
	$(GO) run ./bench

clean:
	rm -rf $(BIN)
