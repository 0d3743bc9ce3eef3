#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# torture.sh - torture the module in a guest (KTAP); the last line has the figures
#
# usage: [KERNEL=kasan] [CPUS=4] [MINUTES=10] [SEED=n] torture.sh [option]...
#
# Options are those of torture.c. Faults are injected where the kernel can. The
# module checks its wheels as they turn: see DEBUG in the Makefile.

. "$(dirname "$0")/../vm/common.sh"

export KERNEL=${KERNEL:-kasan} VARIANT=${VARIANT:-debug}
minutes=${MINUTES:-10}
options=(--seconds $((minutes * 60)) ${SEED:+--seed "$SEED"} "$@")

"$vm/build.sh"
if grep -q '^CONFIG_FAULT_INJECTION_USERCOPY=y' "$("$vm/kernel.sh")/config"; then
	options+=(--faults)
fi
# It takes a while until all that was armed has expired.
"$vm/run.sh" -c "${CPUS:-4}" -m 2048 -t $((minutes * 60 + 600)) -a "$patient" -- \
	/twheel/torture/torture "${options[@]}"
