# Needs Go, a C++ compiler (g++ or $CXX) and make; for programs on many computers, and for OpenSHMEM, also Open MPI.
# Go fetches everything else, at pinned versions.

GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# What runs in several goroutines at once.
CONCURRENT    := ./internal/show/api ./internal/record/collect ./internal/run/engine ./internal/show/live \
	./internal/record/stream ./internal/run/transport/... ./internal/model ./internal/record/modules/... \
	./internal/analysis/slou ./trace ./prof
# What is built with the tag mpi, and the tests that need it.
WITH_MPI      := ./internal/run/transport/... ./cli
MPI_PACKAGES  := libopenmpi-dev openmpi-bin pkg-config
HAVE_MPI       = { command -v mpirun && pkg-config --exists ompi-c; } >/dev/null 2>&1
# What is built with the tag otf2: archives of Score-P and others are read and written with libotf2.
WITH_OTF2     := ./internal/convert/otf2 ./internal/convert/foreign/otf2
OTF2_PACKAGES := libotf2-trace-dev otf2-tools python3-otf2
HAVE_OTF2      = command -v otf2-config >/dev/null 2>&1
HAVE_SHMEM     = { command -v oshrun && command -v oshcc; } >/dev/null 2>&1
DEMO_ARGS     := -n 2 -w 1 examples/mxm/mxm.fa 8 100

# What one clone has compiled another finds in Go's cache.
export GOFLAGS := -trimpath $(GOFLAGS)

# Where install puts things, below DESTDIR; TAGS='mpi otf2' installs a whyslow for mpirun that reads OTF2 archives.
PREFIX        ?= /usr/local
TAGS          ?=
WHYSLOW       ?= ./whyslow

.PHONY: build mpi otf2 install uninstall release site sdk page pictures demo test test-long truth predictions checks tools lint bench bench-overhead bench-page experiments fuzz clean

build:                   ## ./whyslow
	go build -tags '$(TAGS)' -o whyslow ./cmd/whyslow
	@echo "./whyslow is ready; make install puts it where the shell finds it"

mpi:                     ## ./whyslow that can be started by mpirun
	@$(HAVE_MPI) || { echo "Open MPI is not here: apt-get install" $(MPI_PACKAGES); exit 1; }
	go build -tags 'mpi $(TAGS)' -o whyslow ./cmd/whyslow

otf2:                    ## ./whyslow that reads and writes OTF2 archives; TAGS=mpi for both
	@$(HAVE_OTF2) || { echo "libotf2 is not here: apt-get install libotf2-trace-dev"; exit 1; }
	go build -tags 'otf2 $(TAGS)' -o whyslow ./cmd/whyslow

BIN   = $(DESTDIR)$(PREFIX)/bin
MAN   = $(DESTDIR)$(PREFIX)/share/man/man1
BASH  = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH   = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH  = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

install: build           ## below PREFIX (/usr/local): the program, manual pages, completions for bash, zsh and fish
	install -d "$(BIN)" "$(MAN)" "$(BASH)" "$(ZSH)" "$(FISH)"
	install -m 755 $(WHYSLOW) "$(BIN)/whyslow"
	$(WHYSLOW) man "$(MAN)"
	$(WHYSLOW) completion bash > "$(BASH)/whyslow"
	$(WHYSLOW) completion zsh > "$(ZSH)/_whyslow"
	$(WHYSLOW) completion fish > "$(FISH)/whyslow.fish"
	@echo "installed $(BIN)/whyslow"

uninstall:               ## removes what install has put below PREFIX
	rm -f "$(BIN)/whyslow" "$(MAN)/whyslow.1" "$(MAN)/whyslow"-*.1 "$(BASH)/whyslow" "$(ZSH)/_whyslow" "$(FISH)/whyslow.fish"

release:                 ## build/release: analysers for five systems, a Debian package, SBOM, checksums; the same bytes every time
	rm -rf build/release
	internal/testkit/release/release.sh build/release

site:                    ## build/site: the documents as pages with navigation and search; fails where a link leads nowhere
	rm -rf build/site
	go run ./internal/testkit/site . build/site

sdk:                     ## build/: the libraries that record OpenSHMEM and UPC programs, to be linked with, and their headers
	go run ./cmd/whyslow shmem --library build

page:                    ## web/dist, from the sources of the page; it is committed
	go generate ./web
	cd web && npm ci --no-audit --no-fund && npm run build

pictures:                ## docs/page-*.png, of the page as it is
	go test -count=1 -run '^TestPage$$/^(pictures|debug)$$' ./cli -pictures "$$PWD/build/pictures"
	cp build/pictures/page-*.png docs/

demo: build              ## run an example on two nodes and report
	./whyslow run $(DEMO_ARGS)

# What tests need beyond Go and the compiler. Node.js runs Perfetto's trace processor, which reads the traces written
# for it, and builds the page; Chromium shows the page; Open MPI starts many processes and has OpenSHMEM; clang and LLVM's
# libomp compile and run OpenMP programs (chunks of loops are reported from version 16 on); xmllint checks Cube files
# against a schema, Graphviz reads task graphs, otf2-print and a Python module OTF2 archives. Tests are skipped where their tools are missing.
PACKAGES = $$(command -v node >/dev/null && command -v npm >/dev/null || echo nodejs npm; \
	{ command -v chromium-headless-shell || command -v chromium; } >/dev/null || echo chromium-headless-shell; command -v xmllint >/dev/null || echo libxml2-utils; \
	command -v dot >/dev/null || echo graphviz; command -v gdb >/dev/null || echo gdb; \
	{ $(HAVE_OTF2) && command -v otf2-print && /usr/bin/python3 -c 'import otf2'; } >/dev/null 2>&1 || echo $(OTF2_PACKAGES); \
	{ command -v clang-16 && test -e /usr/lib/llvm-16/lib/libomp.so.5; } >/dev/null || echo clang-16 libomp-16-dev; \
	command -v mpicc.mpich >/dev/null || echo mpich libmpich-dev; \
	{ $(HAVE_MPI) && $(HAVE_SHMEM); } || echo $(MPI_PACKAGES))
tools:
	@missing="$(PACKAGES)"; test -z "$$missing" || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
		else echo "some tests are skipped; to have them: apt-get install" $$missing; fi; }

RUNTESTS   := go run ./internal/testkit/runtests
# go test runs packages in this order, so these, which take long, come before all others.
LONG_FIRST := ./cli ./web ./internal/show/experiment ./internal/run/cpp ./internal/show/report ./sdk/...
REST       := $$(go list ./... | grep -vxF "$$(go list $(CONCURRENT))")
# What test leaves to test-long: what is like another test and takes long. Tests themselves try less, see package effort.
LEFT_OUT   := TestPage/^(big|collector|figures|token)$$|^TestDocs$$/^extending|^TestPerfettoTraceProcessorLarge$$|^TestMPI$$
# What test does not run under -race: long, and nothing in it is concurrent, or it asks about the language, not about
# what workers do to each other. Everything else in the concurrent packages runs under -race alone; test-long runs
# all of it both ways.
SEQUENTIAL := ^TestPerfettoTraceProcessor|^TestSection(3|4|5_1|6|13|14)|^Test(ComparingMoreOftenHelps|DamageAnywhere|$\
	BuildsWithout|DescribeForgets|Stuck|RegularEvents|RoundTripRandomEvents|ManyStreams|$\
	TypingOfExpressions|OnDisk|Partial|ManyStreamsWritten|ManyDefinitions|ShareGolden|ShareRecorded|$\
	MemoryOf(DFs|CFs)|Predicted|EventsByHandOfALongCF|GreedyDefinitions|Growing|Goldens|FewSnapshots)$$
SEQUENTIAL_IN := ./internal/analysis/slou ./internal/model ./internal/record/modules ./internal/run/engine \
	./internal/show/api ./internal/show/live ./trace
BENCH_LEFT := TestQuick/^(cf|size|imports|tables|page|playing|watched|follow|share|stream|undebugged)$$
MPI_TESTS  := ^TestMPI(Results|Random|Failures|Report|ReportRanks|Interrupt|Doctor|Stderr)$$
# Both tags at once: one binary of cli less. (Commas, as runtests splits at spaces.)
MPI_TAGS    = mpi$$($(HAVE_OTF2) && echo ,otf2)
OTF2_TESTS := ^TestScript$$/^otf2$$

# With -trimpath, what cgo made of a file may come from another clone, and names that clone's files, which may be gone.
# Of go vet's checks only cgocall opens them: make lint asks it apart, without -trimpath.
VET := go vet -cgocall=false

checks: tools
	@test -z "$$(gofmt -l .)" || { echo "run gofmt on:"; gofmt -l .; exit 1; }
	@echo go vet
	@$(VET) ./... && cd bench && $(VET) ./...
	@$(HAVE_MPI) || exit 0; echo go vet -tags mpi; $(VET) -tags mpi $(WITH_MPI) && cd bench && $(VET) -tags mpi ./...
	@$(HAVE_OTF2) || exit 0; echo go vet -tags otf2; $(VET) -tags otf2 $(WITH_OTF2)
	@echo go build without cgo
	@CGO_ENABLED=0 go build ./...

# The tests run without go test's own vet: checks has vetted everything.
test: checks             ## everything that must hold before a commit, in minutes
	@$(RUNTESTS) -vet=off -timeout 20m -skip '$(LEFT_OUT)' $(LONG_FIRST) $(REST) \
		-- -vet=off -timeout 20m -race -skip '$(SEQUENTIAL)' $(CONCURRENT) \
		-- -vet=off -run '$(SEQUENTIAL)' -skip '$(LEFT_OUT)' $(SEQUENTIAL_IN) \
		-- CGO_ENABLED=0 -vet=off -run '^TestScript$$/^(convert|pgas|usage|version)$$' ./cli \
		-- -C bench -vet=off -skip '$(BENCH_LEFT)' ./... \
		$$($(HAVE_OTF2) && echo "-- -vet=off -tags otf2 $(WITH_OTF2)") \
		$$($(HAVE_MPI) && echo "-- -vet=off -tags mpi ./internal/run/transport/... -- -vet=off -tags $(MPI_TAGS) -parallel 4 -run $(MPI_TESTS)|$(OTF2_TESTS) ./cli")

test-long: checks        ## all tests there are, with many more random cases: before a release
	@WHYSLOW_TEST_LONG=1 $(RUNTESTS) -vet=off -timeout 40m $(LONG_FIRST) ./internal/run/engine ./... \
		-- -vet=off -timeout 40m -race $(CONCURRENT) \
		-- CGO_ENABLED=0 -vet=off -timeout 20m ./cli \
		-- -C bench -vet=off ./... \
		$$($(HAVE_OTF2) && echo "-- -vet=off -tags otf2 $(WITH_OTF2)") \
		$$($(HAVE_MPI) && echo "-- -vet=off -tags mpi ./internal/run/transport/... -- -vet=off -timeout 40m -tags $(MPI_TAGS) -parallel 4 -run MPI|$(OTF2_TESTS) ./cli -- -vet=off -tags mpi -race -run ^TestMPIDebug ./cli")

truth:                   ## programs that are slow for known reasons: is the reason said, nothing false, and does mending them gain what was promised?
	WHYSLOW_TEST_LONG=1 go test -count=1 -timeout 20m -v -run '^TestTruth' ./cli

predictions: build       ## is what predict says of other machines true? runs programs on all that fit; writes docs/predictions.md
	go run ./internal/testkit/predictions ./whyslow

LINT     := go run -trimpath=false $(GOLANGCI_LINT) run
CGOCALL   = GOFLAGS='$(filter-out -trimpath,$(GOFLAGS))' go vet -cgocall
lint:                    ## golangci-lint, see .golangci.yml
	$(LINT) ./...
	cd bench && $(LINT) ./...
	$(HAVE_MPI) || exit 0; $(LINT) --build-tags mpi $(WITH_MPI) && cd bench && $(LINT) --build-tags mpi ./...
	$(CGOCALL) ./internal/run/cpp ./internal/record/modules/native
	$(HAVE_MPI) || exit 0; $(CGOCALL) -tags mpi ./internal/run/transport/mpi
	$(HAVE_OTF2) || exit 0; $(CGOCALL) -tags otf2 ./internal/convert/otf2

bench:                   ## micro-benchmarks, then the figures of docs/benchmarks.md
	go test -run '^$$' -bench . -benchmem ./...
	cd bench && go run . -o ../docs/benchmarks.md

bench-overhead:          ## what profiling costs the block matrix product, by modes: renews that section of docs/benchmarks.md, and its plot
	cd bench && go run . -o ../docs/benchmarks.md overhead

bench-page:              ## first picture, frames, taking in, sending and being watched: renews those sections of docs/benchmarks.md
	cd bench && go run . -o ../docs/benchmarks.md follow watched stream page

experiments: build       ## how S, O and L follow the number of chains, the size of a CF and the size of a DF; writes docs/experiments.md
	./whyslow experiment --page docs/experiments.md

fuzz:                    ## every fuzz target for 20 s
	@grep -rl '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read dir; do \
		for target in $$(grep -rho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6-); do \
			echo "$$dir $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime 20s -fuzzminimizetime 1x $$dir || exit 1; done; done

clean:
	rm -f whyslow
