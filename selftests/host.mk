# SPDX-License-Identifier: GPL-2.0-only
#
# host.mk - what the Makefiles of tests that need no device share
#
# They compile code of the module, of the library or of a program unchanged, under the
# sanitizers, for this machine: kselftest.mk is for programs that a guest runs. It gives
# them the targets all, check (run everything, TAP on stdout, one plan a program) and
# clean. To be set before it is included:
#
#	TESTS	the programs, in the order in which they are run but for -j
#	RUN	a command that runs a program, if that needs one
#	CHECK	a command that prints TAP too, run after them, or beside them with -j
#	LEFT	what clean removes beside the programs
#
# The Makefile says how the programs are linked. O, where they go, may be given on the
# command line.

O ?= ../../build/selftests/$(notdir $(CURDIR))
# A file that says what an object depends on names it in the same way always.
override O := $(abspath $(O))

# A report of a sanitizer is not a failed test, but the end of a program.
ASAN_OPTIONS ?= exitcode=99
UBSAN_OPTIONS ?= exitcode=99:print_stacktrace=1
export ASAN_OPTIONS UBSAN_OPTIONS

.DEFAULT_GOAL := all
.PHONY: all check clean
all: $(TESTS:%=$(O)/%)

$(TESTS:%=$(O)/%): | $(O)
$(O):
	@mkdir -p $@

# Whatever fails, the others are run: at the same time with -j, which wants -O.
MAKEFLAGS += -k
checks := $(TESTS:%=check/%) $(if $(CHECK),check/more)
.PHONY: $(checks)
check: $(checks)
$(TESTS:%=check/%): check/%: $(O)/%
	@echo "# $*"; timeout 600 $(RUN) $<; rc=$$?; \
	[ $$rc -le 1 ] || echo "Bail out! $* ended with status $$rc"; \
	[ $$rc -eq 0 ]

check/more: all
	@$(CHECK)

clean:
	$(RM) -r $(addprefix $(O)/,$(TESTS) $(LEFT))
