# Thin over CMake's presets: what everyone types has a name here.

.PHONY: help setup setup-build setup-test build build-release demo bench test test-release test-sanitized test-clusters test-schemes test-all test-newest \
  asan tsan asan-gcc lint format clean fuzz torture coverage
.DEFAULT_GOAL := help
.NOTPARALLEL:

JOBS ?= $(shell nproc)

title = @echo "== $(1)"
configure = @cmake --preset $(1) $(2) >/dev/null
compile = @cmake --build --preset $(1) -j $(JOBS) $(2)
small_labels := '^(unit|contract|simulation)$$'
# Of one store, one scheme is enough there; make asan and make tsan run all.
not_small := '/redis_(simple|redisson)_'
comma := ,
sources = $(shell find include src apps tests examples bench -name '*.[ch]pp' 2>/dev/null)

help:
	@echo "make setup     install everything that any target needs (Debian; does nothing when all is there)"
	@echo "make build     the library and the command line: build/pawl"
	@echo "make demo      sets up, builds, and shows processes contend for a lock, die, and be overtaken"
	@echo "make bench     measures the locks, each case beside what it cannot do without, and beside other libraries"
	@echo "make test      everything but clusters and some schemes"
	@echo "make test-sanitized  unit, contract and simulation tests under ASan+UBSan and under TSan"
	@echo "make test-clusters  the contract on clusters of servers"
	@echo "make test-schemes  the contract of schemes that are not their store's default, where it takes long"
	@echo "make asan      everything under ASan+UBSan; also: make tsan, make asan-gcc"
	@echo "make lint      clang-format and clang-tidy, which must have nothing to say"
	@echo "make test-all  test, test-sanitized, test-clusters, test-schemes, asan, tsan, asan-gcc and lint"
	@echo "make fuzz      each fuzzer for SECONDS=30"
	@echo "make torture   each store for SECONDS=120 while servers, network and workers fail; also STORE=redis/queue, SEED=7"
	@echo "make coverage  which lines and branches the tests run, by folder"
	@echo "make test-newest  ZooKeeper's and etcd's tests on the newest server and with the newest library of others"
	@echo "make format    lay out the sources"
	@echo "make clean     remove every build tree"

setup:
	@scripts/setup.sh

setup-build setup-test:
	@scripts/setup.sh $(subst setup-,,$@)

build:
	$(call title,build)
	$(call configure,release,-DPAWL_BUILD_TESTS=OFF)
	$(call compile,release)

demo: setup-build
	$(call title,demo: build)
	$(call configure,release,-DPAWL_BUILD_TESTS=OFF)
	$(call compile,release,-t pawl-cli)
	$(call title,demo)
	@build/pawl demo

bench: setup
	$(call title,bench: build)
	$(call configure,release,-DPAWL_BUILD_TESTS=OFF)
	$(call compile,release,-t pawl-cli pawl_bench)
	$(call title,bench: on this host)
	@build/pawl bench
	$(call title,bench: Redis$(comma) beside others; they are built first)
	@bench/redis_bench.py
	@bench/redlock_bench.py
	$(call title,bench: ZooKeeper$(comma) the same)
	@bench/zookeeper_bench.py
	$(call title,bench: etcd$(comma) the same)
	@bench/etcd_bench.py
	$(call title,bench: MySQL$(comma) the same)
	@bench/mysql_bench.py

test: setup-test test-release

build-release:
	$(call title,release: build)
	$(call configure,release,-DPAWL_BUILD_TESTS=ON)
	$(call compile,release,-t all all_verify_interface_header_sets)

test-release: build-release
	$(call title,release: test)
	@ctest --preset release -LE '^(cluster|scheme)$$'

test-clusters: setup-test build-release
	$(call title,clusters: test)
	@ctest --preset release -L '^cluster$$'

test-schemes: setup-test build-release
	$(call title,schemes: test)
	@ctest --preset release -L '^scheme$$'

test-sanitized: setup
	$(call title,ASan+UBSan and TSan: build)
	$(call configure,asan,-DPAWL_SANITIZED_SMALL=ON)
	$(call configure,tsan,-DPAWL_SANITIZED_SMALL=ON)
	$(call compile,asan)
	$(call compile,tsan)
	$(call title,ASan+UBSan: test)
	@ctest --preset asan -L $(small_labels) -E $(not_small)
	$(call title,TSan: test)
	@ctest --preset tsan -L $(small_labels) -E $(not_small)

asan tsan asan-gcc:
	$(call title,$@: build)
	$(call configure,$@,-DPAWL_SANITIZED_SMALL=OFF)
	$(call compile,$@)
	$(call title,$@: test)
	@ctest --preset $@

test-all: test test-sanitized test-clusters test-schemes asan tsan asan-gcc lint

test-newest: setup-test build-release
	@scripts/test_newest.sh build

fuzz: SECONDS ?= 30
fuzz: setup
	$(call title,fuzz: build)
	$(call configure,fuzz)
	$(call compile,fuzz,-t pawl_fuzzers)
	$(call title,fuzz: $(SECONDS) s for each)
	@scripts/fuzz.sh build-fuzz $(SECONDS) $(NAMES)

torture: SECONDS ?= 120
torture: STORE ?= all
torture: setup-test
	$(call title,torture: build)
	$(call configure,release,-DPAWL_BUILD_TESTS=ON)
	$(call compile,release,-t pawl_torture)
	$(call title,torture)
	@scripts/torture.sh build $(STORE) $(SECONDS) $(SEED)

coverage: setup
	$(call title,coverage: build)
	$(call configure,release)
	$(call compile,release,-t pawl_counted_programs)
	$(call title,coverage: run and count)
	@scripts/coverage.py build

lint:
	$(call title,clang-format)
	@clang-format-16 --dry-run -Werror $(sources)
	$(call title,clang-tidy)
	$(call configure,lint)
	@run-clang-tidy-16 -quiet -p build-lint -j $(JOBS) '$(CURDIR)/(src|apps)/'

format:
	@clang-format-16 -i $(sources)

clean:
	@rm -rf build build-dev build-asan build-tsan build-asan-gcc build-fuzz build-lint
