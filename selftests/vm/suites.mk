# SPDX-License-Identifier: GPL-2.0-only
#
# suites.mk - which suite runs when, for check.sh
#
# check.sh has a make for busy, which runs several suites at a time, beside it one for idle,
# and afterwards one for alone. It says what is in
#
#	busy idle alone	suites by what they do to this machine, the first to begin first
#	kernels waiting	debug kernels that are not kept as yet, and the suites that need one
#	one		the command that runs a suite, and whose failures are told by what it says

unexport busy idle alone kernels waiting one

.PHONY: busy idle alone kernels $(busy) $(idle) $(alone)

# Kernels take one place for as long as they are built, one after another. Make comes back to what
# waits for them when all else has begun.
busy: $(if $(kernels),kernels) $(busy)
idle: $(idle)
alone: $(alone)
$(waiting): kernels

kernels:
	@$(one) -k $(kernels)

$(busy) $(idle) $(alone):
	@$(one) $@
