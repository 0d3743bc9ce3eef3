# SPDX-License-Identifier: GPL-2.0-only OR MIT
# For npm. With GYP_DEFINES=twheel_installed=true it takes the library that pkg-config finds.
{
    "variables": {"twheel_installed%": "false"},
    "targets": [{
        "target_name": "twheel",
        "sources": ["addon.c"],
        "cflags": ["-std=gnu11", "-fno-strict-aliasing", "-fvisibility=hidden"],
        "conditions": [
            ["twheel_installed=='true'", {
                "defines": ["TWHEEL_INSTALLED"],
                "cflags": ["<!@(pkg-config --cflags libtwheel)"],
                "libraries": ["<!@(pkg-config --libs libtwheel)"],
            }, {
                "sources": ["twheel.c"],
                "defines": ["TWHEEL_API="],
            }],
        ],
    }],
}
