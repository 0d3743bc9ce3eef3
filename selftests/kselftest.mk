# SPDX-License-Identifier: GPL-2.0-only
#
# kselftest.mk - what the Makefiles of the test programs for /dev/twheel share
#
# It goes around lib.mk of the kernel's selftests, and is included in its place, after
# TEST_GEN_PROGS and the like were set. Further variables for the Makefiles:
#
#	NEEDS_LIBURING	programs that are left out where there is no liburing
#	NEEDS_32BIT	NAME32 runs NAME.c as a 32-bit program, NAME32.elf: see run32.c;
#			left out likewise
#
# and for the command line:
#
#	KSELFTEST	the folder of lib.mk: tools/testing/selftests of a kernel's source
#	OUTPUT		where the programs go
#	FORCE_TARGETS	whatever is missing is an error, and so are warnings

.DEFAULT_GOAL := all
selftests := $(dir $(lastword $(MAKEFILE_LIST)))

# In a kernel's tree the folder of all the tests is a folder of the kernel's selftests.
in_tree := $(wildcard $(selftests)../lib.mk)
ifneq ($(in_tree),)
KSELFTEST := $(selftests)..
interface = $(KHDR_INCLUDES)
else
interface = -I$(selftests)../uapi
OUTPUT ?= $(selftests)../build/selftests/$(notdir $(CURDIR))
override OUTPUT := $(abspath $(OUTPUT))
endif

ifeq ($(wildcard $(KSELFTEST)/lib.mk),)
$(error KSELFTEST must name the folder of lib.mk (tools/testing/selftests of a \
	kernel's source))
endif

# The harness is a system header so that only our own code has to be free of
# warnings; the interface is the one in this tree, never an installed one. Its
# macros compare constants, which are ints, with everything there is, and declare parameters
# that not every test uses.
CPPFLAGS += $(interface) -I$(selftests)uapi -isystem $(KSELFTEST) -D_GNU_SOURCE=
# Not optimised, as most tests wait or call the kernel, and compiling them takes longer than running
# them. A Makefile of programs that measure, or that look for what comes by chance, sets this first.
# Lint looks for the warnings that only an optimising compiler has.
CFLAGS ?= -O0 -g
CFLAGS += -std=gnu11 -Wall -Wextra -Wno-sign-compare -Wno-unused-parameter \
	$(if $(FORCE_TARGETS),-Werror) -pthread

# The headers of this folder, and what others use of the tests of the interface.
LOCAL_HDRS += $(wildcard *.h $(selftests)uapi/*.h $(selftests)../uapi/linux/twheel.h) \
	$(selftests)kselftest.mk Makefile

# What scripts include is one file up in the source, and beside them where they are run.
ifneq ($(TEST_PROGS),)
TEST_GEN_FILES += tap.sh
endif

include $(KSELFTEST)/lib.mk

# What several programs share is compiled once.
$(OUTPUT)/%.o: %.c $(LOCAL_HDRS) | $(OUTPUT)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

# links OPTIONS, LIBRARIES - can a program be built with these?
links = $(shell out=$$(mktemp) && echo 'int main(void) { return 0; }' | \
	$(CC) $(1) -x c - -o $$out $(2) 2>/dev/null && echo yes; rm -f $$out)
# left-out PROGRAMS, REASON
left-out = @echo "$(notdir $(CURDIR)): left out: $(1): $(2)" >&2; test -z "$(FORCE_TARGETS)"

# Static where that is possible, so that any guest runs them.
static := $(if $(call links,-static),-static)
LDFLAGS += $(static)

ifneq ($(NEEDS_LIBURING),)
ifeq ($(call links,$(static) -include liburing.h,-luring),yes)
with_liburing := $(addprefix $(OUTPUT)/,$(NEEDS_LIBURING))
TEST_GEN_PROGS += $(with_liburing)
all: $(with_liburing)
$(with_liburing): LDLIBS += -luring
else
all: no-liburing
.PHONY: no-liburing
no-liburing:
	$(call left-out,$(NEEDS_LIBURING),liburing.h is missing (Debian: liburing-dev))
endif
endif

ifneq ($(NEEDS_32BIT),)
ifeq ($(call links,-m32 $(static) -include stdio.h),yes)
with_32bit := $(addprefix $(OUTPUT)/,$(NEEDS_32BIT))
TEST_GEN_PROGS += $(with_32bit)
TEST_GEN_FILES += $(with_32bit:%=%.elf)
all: $(with_32bit) $(with_32bit:%=%.elf)
$(with_32bit): $(selftests)run32.c
	$(LINK.c) $< -o $@
$(with_32bit:%=%.elf): $(OUTPUT)/%32.elf: %.c $(LOCAL_HDRS)
	$(LINK.c) -m32 $< $(LDLIBS) -o $@
else
all: no-32bit
.PHONY: no-32bit
no-32bit:
	$(call left-out,$(NEEDS_32BIT),a C library of 32 bits is missing (Debian: gcc-multilib))
endif
endif

$(OUTPUT)/tap.sh: $(selftests)tap.sh
	cp $< $@

# A folder of programs that is not this one gets the scripts and other files too.
ifneq ($(OUTPUT),$(CURDIR))
copies := $(addprefix $(OUTPUT)/,$(TEST_PROGS) $(TEST_PROGS_EXTENDED) $(TEST_FILES))
EXTRA_CLEAN += $(copies)
all: $(copies)
$(copies): $(OUTPUT)/%: %
	cp $< $@
endif

$(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED) $(TEST_GEN_FILES) $(copies): | $(OUTPUT)
$(OUTPUT):
	mkdir -p $@

# What lib.mk's install does, without rsync, which few machines have.
.PHONY: copy
copy: all
	mkdir -p $(INSTALL_PATH)
	cp $(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED) $(TEST_GEN_FILES) $(TEST_PROGS) \
		$(TEST_PROGS_EXTENDED) $(TEST_FILES) $(wildcard settings) $(INSTALL_PATH)
