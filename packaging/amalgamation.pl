#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# amalgamation.pl - make libtwheel one file: twheel.c, with twheel.h and twheel.hpp beside it
#
# usage: amalgamation.pl FOLDER
#
# Each file of ours that is included takes the place of the line that includes it, once. Those of
# the system stay lines. What one of our files has for another is static in the end, so the only
# symbols are those of twheel.h.

use strict;
use warnings;
use Cwd;
use File::Basename qw(dirname);
use File::Path qw(make_path);
use File::Spec;

@ARGV == 1 or die "usage: amalgamation.pl FOLDER\n";
my $out = $ARGV[0];
my $top = File::Spec->rel2abs(dirname(__FILE__) . '/..');
my ($lib, $core, $shim) = map { "$top/$_" } 'userspace/lib', 'module/core', 'userspace/shim';

sub slurp {
	my ($path) = @_;
	open my $file, '<', $path or die "amalgamation.pl: $path: $!\n";
	local $/;
	return <$file>;
}

sub spew {
	my ($path, $text) = @_;
	open my $file, '>', $path or die "amalgamation.pl: $path: $!\n";
	print $file $text;
	close $file or die "amalgamation.pl: $path: $!\n";
}

# A line outside of functions that declares or defines something of ours which is not static
my $declared = qr/^(?!(?:static|typedef|return|TWHEEL_API)\b)
		  (?:extern\ )?((?:__thread\ )?[a-z_][\w ]*[ *]+(?:twheel|shim)_\w+
		  (?:\(|\ =|;|\ EMB_TLS|\ __read_mostly|,))/x;

# By file, when all of it is there already
my %seen;

# The text of a file. Whatever is in quotes, and in brackets too if @brackets says where, may be ours.
sub inlined {
	my ($path, $brackets, $quotes) = @_;
	my ($text, $depth) = ('', 0);
	my $name = File::Spec->abs2rel($path, $top);

	for (split /^/, slurp($path)) {
		next if /SPDX-License-Identifier/;
		# A header is in an #if of its own.
		$depth++ if /^#if/;
		$depth-- if /^#endif/;
		if (/^#include (?:"(.*)"|<(.*)>)/) {
			my ($what, @folders) = defined $1 ? ($1, dirname($path), @$quotes) : ($2, @$brackets);
			my ($found) = grep { -e } map { "$_/$what" } @folders;
			if ($what eq 'twheel.h' || $what eq 'linux/twheel.h') {
				next;
			} elsif ($found) {
				$found = Cwd::realpath($found);
				next if $seen{$found};
				# Where it is in another #if it may have to be there once more: it looks itself.
				$seen{$found} = 1 unless $depth > ($path =~ /\.h$/);
				$text .= inlined($found, $brackets, $quotes) . "/* $name goes on. */\n";
				next;
			}
		}
		s/^#include_next/#include/;
		s/$declared/TWHEEL_PRIVATE $1/ unless /^(?:struct|union|enum) \w+;$/;
		$text .= $_;
	}
	return "\n/* $name begins here. */\n$text";
}

my $version = slurp("$top/VERSION") =~ s/\n//r;
my ($mit) = slurp("$top/LICENSES/MIT") =~ /^MIT License\n\n.*?\n\n(.*)\z/ms;
$mit =~ s/^/ * /mg;
$mit =~ s/ +$//mg;
# The first year, and who: as Debian's packages say it
my ($whose) = slurp("$top/debian/copyright") =~ /^(Copyright: .*)$/m;
$whose =~ s/:/ (c)/;
my $head = <<"END";
 * This file was made of the sources of twheel $version by packaging/amalgamation.pl.
 *
 * $whose
 *
 * It may be used under version 2 of the GNU General Public License, or under the MIT License:
 *
$mit */
END

my $interface = slurp("$top/uapi/linux/twheel.h") =~ s/^.*SPDX.*\n//r;
my $header = slurp("$top/userspace/include/twheel.h") =~ s/^.*SPDX.*\n//r;
$header =~ s{^#include <linux/twheel.h>\n}{\n/* uapi/linux/twheel.h begins here. */\n$interface/* twheel.h goes on. */\n}m
	or die "amalgamation.pl: twheel.h does not include <linux/twheel.h>\n";
my $spdx = 'SPDX-License-Identifier: GPL-2.0-only OR MIT';

my $source = <<"END";
// $spdx
/*
 * libtwheel $version in one file: timers of /dev/twheel; where there is no such device, of a wheel in
 * the process. twheel.h beside it says what there is.
 *
 *	cc -O2 -fno-strict-aliasing -pthread -c twheel.c
 *
 * It is GNU C11, for Linux, and needs the C library, its threads, and the kernel's headers for
 * programs. -fno-strict-aliasing is what the kernel is compiled with, as part of this is: GCC finds it
 * here, other compilers have to be told. Clang for x86 of 32 bits wants -latomic, too, and programs
 * in C++ whose timers' functions throw -fexceptions. TWHEEL_API may say what else the public
 * functions are than visible everywhere: with -DTWHEEL_API= -fvisibility=hidden a shared object
 * keeps them to itself.
 *
$head
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

/* Times of 32 bits end in 2038, and words of leases lie up to 32 GiB into a file. */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#ifndef _TIME_BITS
#define _TIME_BITS 64
#endif

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC optimize ("no-strict-aliasing")
#endif
#endif

/* The wheel in the process is there, too. */
#ifndef TWHEEL_EMBEDDED
#define TWHEEL_EMBEDDED
#endif

/* What the parts of this file have for one another. Tests that look inside have it public. */
#ifndef TWHEEL_PRIVATE
#define TWHEEL_PRIVATE static
#endif

#include "twheel.h"
END

my $apart = join '', "\n#undef TWHEEL_CHUNK_TIMERS\n",
	map { "#define $_ core_$_\n" } qw(twheel_ioctl twheel_lease_deadline twheel_timer);

# The library comes first: after the kernel's headers names like `min` and `current` are others.
for my $path (sort(glob "$lib/*.c"), map { "$lib/process/$_.c" } qw(backend shards process)) {
	my @process = $path =~ m{/process/} ? ($shim, $core, "$lib/process") : ();
	# The core has other things by these names.
	$source .= $apart if @process && !$seen{apart}++;
	$source .= inlined($path, \@process, \@process);
}
$source =~ s{^#define TWHEEL_API\t.*\n}{#ifndef TWHEEL_API\n$&#endif\n}m
	or die "amalgamation.pl: there is no TWHEEL_API\n";

make_path($out);
spew("$out/twheel.c", $source);
spew("$out/twheel.h", "/* $spdx */\n/*\n$head$header");
my $hpp = slurp("$top/userspace/include/twheel.hpp");
$hpp =~ s{<twheel\.h>}{"twheel.h"}
	or die "amalgamation.pl: twheel.hpp does not include twheel.h\n";
spew("$out/twheel.hpp", $hpp);
