// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Compiles twheel.c with the C compiler that is there; or asks pkg-config for the library that is
//! installed.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// What a command prints. A build without it makes no sense, so a failure ends the build.
fn run(command: &mut Command) -> String {
    match command.output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        Ok(output) => panic!("{:?}: {}", command, String::from_utf8_lossy(&output.stderr)),
        Err(error) => panic!("{:?}: {}", command, error),
    }
}

/// The variable that names a tool, for the target if there is one for that.
fn tool(name: &str, default: &str) -> String {
    let target = env::var("TARGET").unwrap_or_default().replace('-', "_");
    for variable in [format!("{}_{}", name, target), name.to_string()] {
        println!("cargo:rerun-if-env-changed={}", variable);
        if let Ok(value) = env::var(&variable) {
            return value;
        }
    }
    default.to_string()
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_INSTALLED").is_some() {
        println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
        // Its structures have to be those of this crate.
        let ours =
            concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), ".");
        let found = run(Command::new("pkg-config").args(["--modversion", "libtwheel"]));
        assert!(found.starts_with(ours), "libtwheel is {}, not {}*", found.trim(), ours);
        for word in run(Command::new("pkg-config").args(["--libs", "libtwheel"])).split_whitespace()
        {
            if let Some(folder) = word.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={}", folder);
            } else if let Some(library) = word.strip_prefix("-l") {
                println!("cargo:rustc-link-lib={}", library);
            }
        }
        return;
    }
    println!("cargo:rerun-if-changed=twheel.c");
    println!("cargo:rerun-if-changed=twheel.h");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (object, archive) = (out.join("twheel.o"), out.join("libtwheel.a"));
    // CC may hold options, too.
    let compiler = tool("CC", "cc");
    let mut words = compiler.split_whitespace();
    run(Command::new(words.next().unwrap_or("cc"))
        .args(words)
        .args(["-O2", "-fPIC", "-fno-strict-aliasing", "-pthread", "-fvisibility=hidden"])
        .args(["-DTWHEEL_API=", "-c", "twheel.c", "-o"])
        .arg(&object));
    run(Command::new(tool("AR", "ar")).arg("rcs").args([&archive, &object]));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=twheel");
}
