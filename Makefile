# SPDX-License-Identifier: Apache-2.0
# Progress goes to stderr, so that `make -s demo OUTPUT=json` prints JSON only.

# Static binaries, and one build cache for all: see RATIONALE.md.
export CGO_ENABLED = 0
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

OUTPUT ?= text
FUZZTIME ?= 20s
IMAGE ?= berth-scheduler:dev
BASE ?= scratch
POLICIES := $(notdir $(patsubst %/,%,$(wildcard examples/*/)))
# What runs concurrently and doesn't import Kubernetes, which -race would build anew.
RACE_PKGS ?= ./host/engine/... ./host/guest/... ./host/weave/...
LDFLAGS := -s -w -X k8s.io/component-base/version.gitVersion=$(shell awk '$$1 == "k8s.io/kubernetes" {print $$2}' go.mod)

run = @printf '==> %s\n' '$(1)' >&2; time $(1)
# Counts the packages that `go build -v` names, and passes on all else.
count = 2>&1 | awk '/^[a-z][a-z0-9.\/_-]*$$/ {if (++n % 100 == 0) print "    " n " packages compiled"; next} {print}' >&2
.PHONY: help demo build policies test race check e2e equality bench fuzz image clean

## help: this list
help:
	@sed -n 's/^## //p' Makefile | awk -F': ' '{printf "  %-9s %s\n", $$1, $$2}'

## demo: a local cluster, two schedulers, a policy swapped under load (OUTPUT=json)
demo: policies
	@bin/berth-lab demo -o $(OUTPUT)

## build: the three commands, into bin/
build:
	@for command in berth-lab berth berth-scheduler; do printf '==> build bin/%s (the first build of all takes about 10 minutes on two cores)\n' $$command >&2; \
	  go build -v -ldflags '$(LDFLAGS)' -o bin/ ./cmd/$$command $(count); done

## policies: the examples, as bin/policies/NAME.wasm
policies: build
	@mkdir -p bin/policies
	@for policy in $(POLICIES); do printf '==> build bin/policies/%s.wasm\n' $$policy >&2; \
	  bin/berth build -o bin/policies/$$policy.wasm ./examples/$$policy >&2; done
	@printf '==> build bin/policies/team-pools-v2.wasm, to which the demo swaps\n' >&2; \
	  bin/berth build --version demo-v2 -o bin/policies/team-pools-v2.wasm ./examples/team-pools >&2

## test: all that must pass before a change lands (the first time takes some 30 minutes)
test: check
	$(call run,go test -timeout 30m ./...)
	$(call run,CGO_ENABLED=1 go test -race $(RACE_PKGS))

## race: all that runs concurrently, under the race detector (compiles Kubernetes anew)
race:
	$(call run,CGO_ENABLED=1 go test -race -timeout 60m ./host/... ./test/conformance/...)

## check: gofmt, vet, lint
check:
	@files=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$files" ] || { echo "not formatted:" $$files >&2; exit 1; }
	$(call run,go vet ./...)
	$(call run,go tool revive -config revive.toml -formatter plain ./...)

## e2e: what needs a real API server, which runs in the tests' process
e2e: ; @go test -count=1 -v -timeout 30m ./test/lab/... ./test/e2e/...

## equality: ports of in-tree plugins against the originals, on random clusters; SEED= plays the same again
equality:
	@go test -count=1 -v -timeout 20m ./test/equality -full $(if $(SEED),-rapid.seed=$(SEED)) | tee >(cat >&2) | sed -n '/^equality: policies/p'

## bench: every benchmark, with allocations
bench:
	@go test -run '^$$' -bench . -benchmem $$(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n1 dirname | sort -u)

## fuzz: every fuzz test, each for FUZZTIME (20s)
fuzz:
	@grep -roE --include='*_test.go' '^func Fuzz\w+' . | sed 's/:func / /' | while read -r file test; do printf '==> %s\n' "$$test" >&2; \
	  go test -run '^$$' -fuzz "^$$test\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; done

## image: the scheduler's image, as IMAGE, on BASE (scratch), calling itself VERSION
image:
	docker build --build-arg BASE=$(BASE) --build-arg VERSION=$(VERSION) -t $(IMAGE) .

## clean: remove bin/
clean: ; rm -rf bin
