# SPDX-License-Identifier: GPL-2.0-only
#
# twheel: the module, its user space, and the commands that test and show them.
# What is built goes below build/; `make help` lists the targets.

ifneq ($(words $(CURDIR)),1)
$(error the path of this folder must hold no blanks: $(CURDIR))
endif

MAKEFLAGS += --no-print-directory
KDIR ?= /lib/modules/$(shell uname -r)/build
Q := $(if $(V),,@)

vm := selftests/vm
products := $(CURDIR)/build

# The kernel's own name for itself: one folder for each, to build side by side.
release = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
module_dir = $(products)/module/$(release)

export KERNEL CPUS SUITES DRIVERS

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z_-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 20
	@echo
	@echo "KDIR=dir    build the module against these headers (the running kernel's)"
	@echo "KERNEL=6.1  the kernel that guests run (Debian's default)"
	@echo "CPUS=n      CPUs of the guests"
	@echo "SUITES=...  what check runs (wheel install vm uapi lib stress examples module)"
	@echo "DRIVERS=n   how many drivers demo watches (1000000)"
	@echo "V=1         show the commands"

# The sources are linked into the folder, so that the tree itself stays clean.
.PHONY: modules
modules: ## build twheel.ko
	@test -n "$(release)" || { echo >&2 "no kernel headers in $(KDIR):" \
		"install linux-headers-$$(uname -r), or set KDIR"; exit 1; }
	$(Q)mkdir -p $(module_dir)
	$(Q)cp -rsf $(CURDIR)/Kbuild $(CURDIR)/module $(CURDIR)/uapi $(module_dir)
	$(Q)$(MAKE) -C $(KDIR) M=$(module_dir) modules

.PHONY: userspace
userspace: ## build libtwheel, the twheel tool and the examples
	$(Q)$(MAKE) -C userspace O=$(products)/userspace

.PHONY: demo
demo: ## a million drivers in a guest (TARGET=host: on this machine)
	$(Q)$(vm)/demo.sh $(TARGET)

.PHONY: check
check: ## run all the tests, in guests where they need the device
	$(Q)$(vm)/setup.sh build guest check
	$(Q)$(vm)/build.sh
	$(Q)$(vm)/check.sh

.PHONY: bench
bench: ## measure memory, interrupts and lock holds in a guest
	$(Q)$(vm)/setup.sh build guest check
	$(Q)$(vm)/build.sh
	$(Q)$(vm)/run.sh -m 2048 -- /twheel/bench/figures.sh

.PHONY: lint
lint: ## checkpatch, sparse, W=1, kernel-doc, gcc, clang, shellcheck
	$(Q)$(vm)/setup.sh build guest lint
	$(Q)$(vm)/lint.sh

.PHONY: shell
shell: ## a shell in a guest with the module loaded
	$(Q)$(vm)/setup.sh build guest
	$(Q)$(vm)/build.sh
	$(Q)$(vm)/run.sh -i -m 3072

.PHONY: install
install: userspace ## install library, tool, headers and man pages
	$(Q)$(MAKE) -C userspace O=$(products)/userspace install

.PHONY: uninstall
uninstall: ## remove them again
	$(Q)$(MAKE) -C userspace O=$(products)/userspace uninstall

.PHONY: modules_install
modules_install: modules ## install the module for the kernel of KDIR
	$(Q)$(MAKE) -C $(KDIR) M=$(module_dir) modules_install

.PHONY: clean
clean: ## remove what was built (fetched kernels stay in the cache)
	$(Q)rm -rf $(products)
