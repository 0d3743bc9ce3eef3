# SPDX-License-Identifier: GPL-2.0-only
#
# twheel: the module, its user space, and the commands that test and show them.
# What is built goes below build/; `make help` lists the targets.

ifneq ($(words $(CURDIR)),1)
$(error the path of this folder must hold no blanks: $(CURDIR))
endif

ifneq ($(words .$(INSTALL_MOD_PATH). .$(INSTALL_MOD_DIR).)$(filter-out /%,$(INSTALL_MOD_PATH)),2)
$(error INSTALL_MOD_PATH must be a path that begins with /, and neither it nor INSTALL_MOD_DIR may hold blanks)
endif

MAKEFLAGS += --no-print-directory
KDIR ?= /lib/modules/$(shell uname -r)/build
Q := $(if $(V),,@)

vm := selftests/vm
products := $(CURDIR)/build

# The kernel's own name for itself: one folder for each, to build side by side.
release = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
VARIANT := $(or $(VARIANT),$(if $(DEBUG),debug))
module_dir = $(products)/module/$(release)$(if $(VARIANT),-$(VARIANT))
# What the module is instrumented with, for a kernel that has it
instrument-kcov := KCOV_INSTRUMENT=y
# Each wheel is checked whenever it has turned.
instrument-debug := TWHEEL_DEBUG=y

export KERNEL KERNELS VARIANT CPUS SUITES JOBS DRIVERS MINUTES SEED RELEASE PENDING
unexport DEBUG

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z_-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 20
	@echo
	@echo "KDIR=dir    build the module against these headers (the running kernel's)"
	@echo "DEBUG=1     the module checks its wheels as they turn, and warns: slow"
	@echo "KERNEL=6.1  the kernel that guests run (Debian's default): 6.1, 6.1-rt, 6.12, 7.2;"
	@echo "            6.1-cloud, arm64 (emulated); kasan, kcsan: debug kernels"
	@echo "KERNEL_IMAGE=file KDIR=dir  any other x86-64 kernel for guests, and its headers"
	@echo "CPUS=n      CPUs of the guests"
	@echo "SUITES=...  what check runs: wheel lease sim schedule tool install report abi dist vm kselftest"
	@echo "            uapi lib embedded loops languages reminder stress hostile isolation examples module time"
	@echo "            insn deb html lint shares stalls; on debug kernels seeded faults"
	@echo "            torture fuzz; KERNEL/SUITE runs a suite on that kernel, long those of check-long"
	@echo "PENDING=... numbers of pending timers for bench-insn, up to 10000000; BATCH=1 with WHERE=later"
	@echo "DRIVERS=n   how many drivers demo watches (1000000)"
	@echo "V=1         show the commands"

# The sources are linked into the folder, so that the tree itself stays clean.
.PHONY: modules
modules: ## build twheel.ko
	@test -n "$(release)" || { echo >&2 "no kernel headers in $(KDIR): install linux-headers or" \
		"kernel-devel for $$(uname -r), or set KDIR"; exit 1; }
	$(Q)mkdir -p $(module_dir)
	$(Q)cp -rsf $(addprefix $(CURDIR)/,Kbuild VERSION module uapi) $(module_dir)
	$(Q)$(MAKE) -C $(KDIR) M=$(module_dir) $(instrument-$(VARIANT)) modules

.PHONY: userspace
userspace: ## build libtwheel, the twheel tool, applications and examples
	$(Q)$(MAKE) -C userspace O=$(products)/userspace

.PHONY: demo
demo: ## a million drivers in a guest (TARGET=host: here; TARGET=embedded: without the module)
	$(Q)selftests/demo/demo.sh $(TARGET)

.PHONY: check
check: ## tests of each kind, in guests where they need the device: a quarter of an hour
	$(Q)$(vm)/check.sh

.PHONY: check-long
check-long: ## the rest of the tests: longer, in more shapes, on more kernels
	$(Q)SUITES=long $(vm)/check.sh

.PHONY: check-bare
check-bare: ## the README's two commands on a Debian that has nothing (RELEASE=trixie)
	$(Q)SUITES=bare $(vm)/check.sh

.PHONY: check-deb
check-deb: ## Debian packages: build, install, upgrade, purge in a fresh Debian (RELEASE=trixie)
	$(Q)SUITES=deb $(vm)/check.sh

.PHONY: check-all
check-all: ## run the tests that need a guest on each kernel (KERNELS, CPUS: lists)
	$(Q)$(vm)/check-all.sh

.PHONY: torture
torture: ## everything at once in a guest, and an oracle (MINUTES=10, SEED=n)
	$(Q)$(vm)/setup.sh build guest check kernel
	$(Q)selftests/torture/torture.sh

.PHONY: sim
sim: ## simulate the module, with an oracle (SEED=n, OPERATIONS=n or MINUTES=1, CPUS=n, MINIMISE=seed)
	$(Q)$(vm)/setup.sh build
	$(Q)$(MAKE) -s -C selftests/sim sim V= O=$(products)/sim ARGS='$(strip $(sim_args) $(ARGS))'
sim_args = $(if $(SEED),--seed $(SEED)) $(if $(EPISODES),--episodes $(EPISODES)) \
	$(if $(OPERATIONS),--operations $(OPERATIONS)) $(if $(MINUTES),--minutes $(MINUTES)) \
	$(if $(CPUS),--cpus $(CPUS)) $(if $(V),--verbose) \
	$(if $(MINIMISE),--seed $(MINIMISE) --minimise)

.PHONY: faults
faults: ## make what can fail in the kernel fail, throughout the interface
	$(Q)SUITES=faults $(vm)/check.sh
	$(Q)awk -f selftests/faults/figures.awk $(products)/log/check.faults

.PHONY: coverage
coverage: ## which lines of the module the tests on this machine reach
	$(Q)$(vm)/setup.sh build coverage
	$(Q)selftests/coverage.sh

.PHONY: bench
bench: ## measure beside timerfd, io_uring and others: half an hour (QUICK=1: 5 minutes)
	$(Q)$(vm)/setup.sh build guest check kernel bench
	$(Q)selftests/bench/bench.sh $(if $(QUICK),quick)

.PHONY: bench-process
bench-process: ## measure the wheel in the process beside libuv, libevent and heaps: 4 minutes
	$(Q)$(vm)/setup.sh build kernel bench
	$(Q)selftests/bench/bench.sh process

.PHONY: bench-languages
bench-languages: ## measure timers of other languages beside their own: 12 minutes (QUICK=1: one)
	$(Q)$(vm)/setup.sh build languages
	$(Q)selftests/bench/languages/costs.sh $(if $(QUICK),quick)

.PHONY: bench-insn
bench-insn: ## count the instructions of each operation (KEEP=1, WHERE=later, PENDING="1000")
	$(Q)$(vm)/setup.sh build guest check
	$(Q)$(vm)/build.sh
	$(Q)selftests/bench/insn.sh $(if $(WHERE),where $(WHERE) $(BATCH),$(if $(KEEP),keep,compare))

.PHONY: fuzz
fuzz: ## fuzz the interface for MINUTES (3) in a guest, and the wheel on this machine
	$(Q)$(vm)/setup.sh build guest check kernel
	$(Q)selftests/fuzz/fuzz.sh $(if $(MINUTES),-m $(MINUTES))

.PHONY: stalls
stalls: ## what others notice of 10 million timers at once: three rounds, a table
	$(Q)ROUNDS=3 SUITES=stalls $(vm)/check.sh

.PHONY: time
time: ## a year of periodic timers, and deadlines in ten years, in virtual time
	$(Q)SUITES=time-long $(vm)/check.sh

.PHONY: show
show: ## what Documentation/tool.md and moving.md show, made anew in guests
	$(Q)Documentation/show/tool.sh
	$(Q)Documentation/show/moving.sh

.PHONY: html
html: ## the documentation as a site in build/html
	$(Q)$(vm)/setup.sh html
	$(Q)Documentation/site/html.sh

.PHONY: lint
lint: ## checkpatch, sparse, W=1, kernel-doc, gcc, clang, shellcheck
	$(Q)$(vm)/setup.sh build guest lint
	$(Q)selftests/lint/lint.sh

.PHONY: shell
shell: ## a shell in a guest with the module loaded
	$(Q)$(vm)/setup.sh build guest
	$(Q)$(vm)/build.sh
	$(Q)$(vm)/run.sh -i -m 3072

.PHONY: install
install: userspace ## install library, tool, completion, headers and man pages
	$(Q)$(MAKE) -C userspace O=$(products)/userspace install

.PHONY: uninstall
uninstall: ## remove them again
	$(Q)$(MAKE) -C userspace O=$(products)/userspace uninstall

.PHONY: modules_install
modules_install: modules ## install the module for the kernel of KDIR
	$(Q)$(MAKE) -C $(KDIR) M=$(module_dir) modules_install

# INSTALL_MOD_PATH and INSTALL_MOD_DIR are those of the kernel's modules_install. Which folder
# it takes without the latter depends on the kernel.
installed_module = $(patsubst %,$(INSTALL_MOD_PATH)/lib/modules/$(release)/%/twheel.ko, \
	$(or $(INSTALL_MOD_DIR),extra updates))
.PHONY: modules_uninstall
modules_uninstall: ## remove it again
	@test -n "$(release)" || { echo >&2 "no kernel headers in $(KDIR): set KDIR"; exit 1; }
	$(Q)rm -f $(foreach suffix,.ko .ko.gz .ko.xz .ko.zst,$(installed_module:.ko=$(suffix)))
	$(Q)rmdir --ignore-fail-on-non-empty $(wildcard $(dir $(installed_module))) 2>/dev/null || :
	$(Q)PATH="$$PATH:/sbin:/usr/sbin" depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(release)

.PHONY: dkms-install
dkms-install: ## have DKMS build the module for each kernel, now and when one is installed
	$(Q)packaging/dkms.sh install

.PHONY: dkms-uninstall
dkms-uninstall: ## remove it again
	$(Q)packaging/dkms.sh uninstall

.PHONY: amalgamation
amalgamation: ## libtwheel as one file, twheel.c, and its header, in build/amalgamation
	$(Q)packaging/amalgamation.pl $(products)/amalgamation

.PHONY: packages
packages: ## the packages of other languages in build/packages (SYSTEM=1: for the installed library)
	$(Q)SYSTEM=$(SYSTEM) packaging/packages.sh

.PHONY: dist
dist: ## tarballs of the last commit, the same bytes wherever they are made (REVISION=tag)
	$(Q)packaging/dist.sh $(REVISION)

.PHONY: deb
deb: ## build Debian packages in build/deb, and run lintian on them
	$(Q)$(vm)/setup.sh deb
	$(Q)packaging/deb.sh

.PHONY: rpm
rpm: ## build RPM packages in build/rpm, and run rpmlint on them
	$(Q)$(vm)/setup.sh dist
	$(Q)packaging/rpm.sh

.PHONY: clean
clean: ## remove what was built (fetched kernels stay in the cache)
	$(Q)rm -rf $(products)
