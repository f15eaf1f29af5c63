# The verbs of this project. `make` alone builds bin/trocar.
# Everything works on a fresh clone; `make test` installs the compilers and tools that the fixtures need (Debian, root).

GO       ?= go
TOOL      = $(GO) tool -modfile=tools/go.mod
FUZZTIME ?= 20s
SEED     ?= 1
N        ?= 25
PACKAGES  = $(shell $(GO) list ./... | grep -v /e2e$$)

# One static file without a C library; paths of the building machine stay out of it.
export CGO_ENABLED = 0
# Nothing here speaks HTTP/2: servers of debug files are asked over HTTP/1.1, and 300 kB are left out. Ciphers are
# compiled from Go (purego), which decrypts 100 MB a second and leaves out 170 kB of assembly and tables. Packages
# that wait for networks, users or the kernel, or are small beside what they call, are not inlined, which leaves out
# 650 kB more; nor are those that read and check scripts and make code, where it brings nothing (a compilation takes
# as long) and leaves out 700 kB. Those that read symbols and debug information spend their time in few large
# functions, which are as fast either way (list -v of libc, a script's types). Packages that run for each event are
# inlined. Functions follow one another without padding to multiples of 32 bytes, which leaves out 300 kB.
COLD  = net net/http crypto/tls crypto/x509 crypto/internal/... crypto/... vendor/golang.org/x/... encoding/json \
	encoding/asn1 encoding/xml encoding/base64 compress/... archive/zip strconv sort io errors maps unicode/... \
	internal/zstd github.com/ulikunitz/... internal/poll internal/syscall/... math/big regexp/syntax text/template/... \
	text/tabwriter mime/... log html go/... flag github.com/spf13/... github.com/cilium/ebpf/... trocar \
	trocar/internal/ui/... trocar/internal/recipe trocar/internal/kernel trocar/internal/script/... \
	trocar/internal/process/target trocar/internal/process/runtimes/... trocar/internal/compile/check \
	trocar/internal/compile/codegen trocar/internal/process/match trocar/internal/process/probe \
	trocar/internal/process/stacktables trocar/internal/compile/ir trocar/internal/compile/builtin \
	trocar/internal/compile/feature trocar/internal/near trocar/internal/demo trocar/internal/binary/debuginfod \
	github.com/ianlancetaylor/demangle os/... context path/... regexp net/url trocar/internal/binary/uapi \
	trocar/internal/binary/packages trocar/internal/binary/types trocar/internal/binary/clr \
	trocar/internal/binary/image trocar/internal/binary/objfile trocar/internal/binary/debuginfo \
	trocar/internal/session trocar/internal/binary/btf trocar/internal/binary/opener trocar/internal/binary/cfi \
	trocar/internal/binary/code trocar/internal/binary/abi trocar/internal/process/tracefs fmt reflect time syscall \
	bufio debug/elf debug/dwarf golang.org/x/sys/... strings bytes trocar/result
BUILD = $(GO) build -tags nethttpomithttp2,purego $(COLD:%=-gcflags=%=-l) -trimpath -buildvcs=false -ldflags "-s -w -funcalign=1"

.PHONY: build test deps lint format unit e2e truth soak cross fuzz bench demo generate clean

build:
	$(BUILD) -o bin/trocar ./cmd/trocar

# All that has to hold before a change goes in.
test: deps lint unit e2e cross

# What tests call besides Go: C, C++ and Rust compilers, readelf, gdb …
deps:
	@e2e/deps.sh

lint:
	$(GO) vet ./...
	@out=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$out" ]; then echo "not formatted (make format):"; echo "$$out"; exit 1; fi
	$(TOOL) staticcheck ./...

format:
	$(TOOL) gofumpt -w .

unit:
	$(GO) test -timeout 10m $(PACKAGES)

# Real programs, traced on this kernel. Needs root; without it the cases are skipped, unless TROCAR_REQUIRE_ROOT is set.
e2e: build
	TROCAR_E2E_TRACER=$(CURDIR)/bin/trocar $(GO) test -count=1 -timeout 15m ./e2e ./e2e/truth

# Random programs, of which each value that is shown is compared with what the program passed and returned. Needs root.
# N programs of each language: make truth SEED=7 N=1 TRUTH="-lang rust -only opt-level=2 -keep out/truth"
truth: build
	$(GO) run ./e2e/truth -trocar bin/trocar -seed $(SEED) -n $(N) $(TRUTH)

# A program that checks its results, with probes that come and go: make soak SOAK="-cycles 1000", SOAK="-minutes 10 -hold",
# SOAK="-program rust", or -pid, -files and -check for another one. Needs root.
SOAK ?= -cycles 200
soak: build
	$(GO) run ./e2e/soak -trocar bin/trocar $(SOAK)

# The other CPU, tests included.
cross:
	GOARCH=arm64 $(BUILD) -o bin/trocar-arm64 ./cmd/trocar
	GOARCH=arm64 $(GO) vet ./...

# Each fuzz target for FUZZTIME.
fuzz:
	@for pkg in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "fuzz $$pkg $$f"; \
			$(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

# Costs, beside bpftrace if it is installed: make bench BENCH="-only start,hits". Needs root and a quiet machine.
bench: build
	$(GO) run ./bench -trocar bin/trocar $(BENCH)

# What a newcomer runs first: builds, traces a small workload for some seconds and ends by itself. Needs root.
demo: build
	bin/trocar demo

generate:
	$(GO) generate ./...

clean:
	rm -rf bin out
