# SPDX-License-Identifier: GPL-2.0-only
#
# kselftest.mk - what the Makefiles of the test programs for /dev/twheel share
#
#	make -C selftests/uapi O=<output folder> KSELFTEST=<folder>
#
# KSELFTEST is the folder that holds kselftest.h and kselftest_harness.h: in a kernel's
# source tree tools/testing/selftests. Programs are static, so that any guest runs them.

.DEFAULT_GOAL := all
.PHONY: all clean

ifeq ($(filter clean,$(MAKECMDGOALS)),)
ifeq ($(wildcard $(KSELFTEST)/kselftest_harness.h),)
$(error KSELFTEST must name the folder of kselftest_harness.h \
	(tools/testing/selftests of a kernel's source))
endif
endif

O ?= .
tests := $(dir $(lastword $(MAKEFILE_LIST)))

# The harness is a system header so that only our own code has to be free of
# warnings; the interface is the one in this tree, never an installed one. Its
# macros compare constants, which are ints, with everything there is.
CPPFLAGS += -I$(tests)../uapi -I$(tests)uapi \
	-isystem $(KSELFTEST) -D_GNU_SOURCE
CFLAGS ?= -O2 -g
CFLAGS += -std=gnu11 -Wall -Wextra -Wno-sign-compare -Werror -pthread
LDFLAGS += -static

# Those of this folder, and what others use of the tests of the interface.
HEADERS := $(wildcard *.h) $(wildcard $(tests)uapi/*.h) $(tests)../uapi/linux/twheel.h \
	$(tests)kselftest.mk

$(O):
	mkdir -p $@

# Scripts go where the programs are.
$(O)/%.sh: %.sh | $(O)
	cp $< $@

# What would be removed must not be the source.
clean:
	$(RM) $(PROGRAMS)
	test $(O) -ef . || $(RM) $(SCRIPTS)
