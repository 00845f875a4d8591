# Two commands do everything: `make run` and `make test`. Both install what is missing first
# (tools/setup) and are quick when there is nothing to do.

# A toolchain that rustup installed is found even where its PATH line has not been read yet.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
# The binary is always where the documentation says, whatever the environment asks for.
BUILD_DIR := target
export CARGO_TARGET_DIR := $(CURDIR)/$(BUILD_DIR)
unexport CARGO_BUILD_TARGET

# The architecture of the binary: this machine's, or make ARCH=aarch64. Only a variable of the
# command line counts: those who build kernels have an ARCH in their environment.
HOST_ARCH := $(shell uname -m)
ARCH := $(HOST_ARCH)
# How it is optimised: release is built quickly, dist is what packages have.
PROFILE := release
ifeq ($(ARCH),$(HOST_ARCH))
BINARY := $(BUILD_DIR)/$(PROFILE)/thrashlab
else ifeq ($(ARCH),aarch64)
TRIPLE := aarch64-unknown-linux-gnu
CROSS := --target $(TRIPLE)
BINARY := $(BUILD_DIR)/$(TRIPLE)/$(PROFILE)/thrashlab
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER := aarch64-linux-gnu-gcc
else
$(error ARCH=$(ARCH): a binary is built for this machine, or with ARCH=aarch64)
endif
# Further architectures that the binary can measure, as make AGENTS=aarch64: guests and other machines.
AGENTS :=
ifneq ($(AGENTS),)
export THRASHLAB_AGENTS := $(AGENTS)
endif
SKIPS := $(CURDIR)/target/skips.txt
# The tests' engines are apart from the user's.
ENGINE := XDG_CACHE_HOME=$(CURDIR)/target/engine-cache $(BINARY)
# The emulator of this name that was built last.
emulator = "$$(ls -t target/engine-cache/thrashlab/engines/*/qemu-system-$(1) | head -n 1)"
# What `make run` passes to `thrashlab run`, e.g. make run ARGS=--help
ARGS ?=
# How long `make fuzz` runs each target, in s
FUZZ_SECONDS ?= 600

.PHONY: build binary run quick test test-guests test-all checked engine test-distro test-aarch64 \
	test-engine bench fuzz guide site dist test-dist skips fmt clean

# Fully static, so that the binary runs in any container and as /init of a virtual machine.
# The flags go to the last crate only: build scripts and proc macros cannot be static.
build:
	@tools/setup $(if $(CROSS),cross-$(ARCH))
	@[ -z "$(AGENTS)" ] || tools/setup agents $(AGENTS)
	@$(MAKE) --no-print-directory binary

# The same without looking for missing packages: what the Python wheel contains.
binary:
	@MAKEFLAGS= cargo rustc --locked --profile $(PROFILE) $(CROSS) -p cli --bin thrashlab -- -C target-feature=+crt-static -C relocation-model=static
	@! readelf -lW $(BINARY) | grep -q INTERP || { echo "$(BINARY) is not static" >&2; exit 1; }

run: build
	@$(BINARY) run $(ARGS)

# What a change needs at every step: format, lints, rules, the tests inside of crates, and one call of
# each command. The lanes are in CONTRIBUTING.md.
quick:
	@tools/setup quick
	@$(MAKE) --no-print-directory checked
	@mkdir -p target && : > "$(SKIPS)"
	THRASHLAB_SKIPS="$(SKIPS)" cargo xtask test quick

# What a user or a packager runs. Layering and the other rules of the project are tests of xtask.
test:
	@tools/setup test
	@$(MAKE) --no-print-directory checked
	@mkdir -p target && : > "$(SKIPS)"
	THRASHLAB_SKIPS="$(SKIPS)" cargo xtask test test
	THRASHLAB_SKIPS="$(SKIPS)" tests/python/run -m "not slow"
	@sed 's/^/SKIPPED /' "$(SKIPS)"

# The short tests in the engine and in a guest with a current Debian, after `make test`.
test-guests:
	@tools/setup test-guests
	@$(MAKE) --no-print-directory engine
	THRASHLAB_SKIPS="$(SKIPS)" cargo test --locked -p cli --test distro --test vm -- \
		user:: commands:: engine::

# Everything, with what takes minutes. A night.
test-all: build
	@tools/setup test-guests
	@$(MAKE) --no-print-directory checked engine
	@mkdir -p target && : > "$(SKIPS)"
	@# Fuzzers that do not compile would find nothing.
	MAKEFLAGS= cargo check --locked --manifest-path fuzz/Cargo.toml --target-dir $(BUILD_DIR)/fuzz
	THRASHLAB_SKIPS="$(SKIPS)" THRASHLAB_LONG_TESTS=1 cargo xtask test all
	THRASHLAB_SKIPS="$(SKIPS)" THRASHLAB_BINARY=$(BINARY) tests/python/run
	@sed 's/^/SKIPPED /' "$(SKIPS)"

# Without MAKEFLAGS: cargo would take make's jobs for its own.
checked:
	cargo fmt --all --check
	MAKEFLAGS= cargo clippy --locked --workspace --all-targets -- -D warnings

# Where the source of QEMU cannot be had (code 3), tests of several virtual CPUs skip themselves.
engine: binary
ifeq ($(HOST_ARCH),x86_64)
	@MAKEFLAGS= $(ENGINE) vm engine build || [ $$? -eq 3 ]
endif

# What takes minutes, most of it in guests with a current Debian: nightly, and before each release.
test-distro: build
	@tools/setup test-guests
	@: > "$(SKIPS)"
	THRASHLAB_SKIPS="$(SKIPS)" THRASHLAB_LONG_TESTS=1 cargo test --locked -p cli --test distro
	THRASHLAB_SKIPS="$(SKIPS)" THRASHLAB_LONG_TESTS=1 cargo test --locked -p cli --test vm \
		-- programs_of_debian every_model_of_a_disk a_root_makes_xfs fifty_changes --nocapture
	THRASHLAB_SKIPS="$(SKIPS)" THRASHLAB_LONG_TESTS=1 cargo test --locked -p xtask --test adding
	@sed 's/^/SKIPPED /' "$(SKIPS)"

# The binary of aarch64 in a guest with a current Debian of aarch64, and in deterministic machines in
# the system's QEMU and in an engine, which is built and tested: nightly, and before each release.
test-aarch64:
	@$(MAKE) --no-print-directory build ARCH=aarch64
	@tools/setup test-aarch64
	@: > "$(SKIPS)"
	THRASHLAB_SKIPS="$(SKIPS)" THRASHLAB_LONG_TESTS=1 THRASHLAB_DISTRO_ARCH=aarch64 \
		cargo test --locked -p cli --test distro
	@$(MAKE) --no-print-directory build
	@tools/setup engine
	$(ENGINE) vm engine build --arch aarch64
	engine/test $(call emulator,aarch64)
	tools/setup agents aarch64
	THRASHLAB_SKIPS="$(SKIPS)" THRASHLAB_LONG_TESTS=1 THRASHLAB_AGENTS=aarch64 \
		cargo test --locked -p cli --test vm -- aarch64::
	@sed 's/^/SKIPPED /' "$(SKIPS)"

# Guests with several virtual CPUs: builds the engine, tests its patches, its CPUs by those who test
# KVM's, its guests, whether they depend on the host, and the bar.
# Nightly; `make test` has a short form.
test-engine: build
	@tools/setup test-engine
	$(ENGINE) vm engine build
	engine/test $(call emulator,x86_64)
	engine/kvm-unit-tests $(call emulator,x86_64) || [ $$? -eq 3 ]
	@: > "$(SKIPS)"
	THRASHLAB_SKIPS="$(SKIPS)" cargo test --locked -p cli --test vm -- engine:: on_several_cpus
	engine/elsewhere $(BINARY)
	XDG_CACHE_HOME=$(CURDIR)/target/engine-cache tools/engine-bar $(BINARY) $(BAR_RUNS)

# Claims of performance, beside peers or limits: benches/README.md
bench: build
	@python3 benches/run.py $(BINARY)

# Every fuzz target for FUZZ_SECONDS: fuzz/README.md
fuzz:
	@fuzz/run $(FUZZ_SECONDS)

# The guide as HTML in target/guide; a test of tools/guide builds it too, so that CI does.
guide:
	@cargo run --quiet --locked --package guide

# The guide with a gallery of real pages and the playground, in target/site.
site: build engine
	@tools/setup site
	@XDG_CACHE_HOME=$(CURDIR)/target/engine-cache tools/site

# What is released, in target/dist: packaging/README.md. With equal bytes wherever it is built.
dist:
	@packaging/dist

# Installs that in bare Debians, uses it there as an ordinary user, and removes it: nightly.
test-dist: dist
	packaging/try bookworm deb
	packaging/try trixie deb
	packaging/try bookworm wheel
	packaging/try trixie wheel
	packaging/try trixie image
	packaging/try bookworm deb guest
	packaging/try trixie deb guest

# Fails if the last `make test` skipped a test that tests/allowed-skips.txt does not allow.
skips:
	@cargo xtask skips "$(SKIPS)"

fmt:
	@cargo fmt --all

clean:
	@cargo clean
