#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# prose.pl - is there what pages and comments name?
#
# usage: prose.pl [HEADERS...]		in the folder at the top of the tree
#
# One line for each finding. A page is README.md, Documentation/*.md and the like, and each
# manual page. A name exists if the code has it, or a file in the folders HEADERS, which are
# those of the kernel and the C library. Neither a comment nor a string is code.
#
#	name()			is called or defined somewhere
#	a word with a _		is a word of the code; if it begins or ends with it, part of one
#	twheel_base.lock	the struct has that member, if the tree has the struct
#	timer->where		some struct has that member
#	FILE.c, FOLDER/FILE	is in the tree: by its whole path, by its path from where it is
#				named, or by the end of its path
#	`FILE.c` `name()`	on a page: a file of the module, and the function is in it
#
# Each spinlock and mutex of the module stands in the lock order, in design.md.
# The subject of a commit has at most 72 characters, since the commit that brought this file.

use strict;
use warnings;
use File::Find;

# What neither the tree nor the headers have, and whose it is
my %elsewhere = (
	(map { $_ => "kqueue's" } qw(kqueue kevent EVFILT_TIMER EV_ADD EV_DELETE EV_DISABLE EV_ENABLE
		EV_ONESHOT EV_SET NOTE_ABSTIME NOTE_MSECONDS NOTE_NSECONDS NOTE_SECONDS
		NOTE_USECONDS)),
	(map { $_ => "Erlang's" } qw(ERL_NIF_SELECT_READ ERL_NIF_SELECT_STOP
		enif_open_resource_type_x enif_select monotonic_time ready_input send_after)),
	(map { $_ => "Linux's from 6.4 on" } qw(IORING_TIMEOUT_MULTISHOT)),
	(map { $_ => "Rust's" } qw(compile_fail unused_must_use)),
	(map { $_ => "node-gyp's" } qw(GYP_DEFINES)),
	(map { $_ => "tokio's" } qw(insert_at)),
	(map { $_ => "kselftest's" } qw(lib.mk run_kselftest.sh include/uapi/linux/twheel.h)),
	'qemu-plugin.h' => "QEMU's",
	'hello.c' => "the reader's",
);

my $me = 'selftests/lint/prose.pl';
my (%file, %folder, %code, %prose);
my (%word, %called, %member_of, %member, %used, $words, $paths, $failed);

sub finding {
	my ($file, $line, $what) = @_;
	print "$file:$line: $what\n";
	$failed = 1;
}

# The same text, blank but for its lines
sub blank {
	my ($text) = @_;
	$text =~ s/[^\n]/ /g;
	return $text;
}

# Split a text of C and its kin: code, and comments in their places.
sub split_c {
	my ($text) = @_;
	my $prose = '';
	my $code = '';
	while ($text =~ m{\G(?:
			(/\*.*?\*/ | //[^\n]*)			# 1: a comment
			| "((?:[^"\\\n]|\\.)*)"			# 2: a string
			| '(?:[^'\\\n]|\\.)' | [^/"']+ | .	# a character, or anything else
			)}xgs) {
		my $all = $&;
		if (defined $1) {
			$prose .= $all;
			$code .= blank($all);
		} else {
			$prose .= blank($all);
			# A string that is a name says that there is one.
			$code .= !defined $2 || $2 =~ /^\w+$/ ? $all : blank($all);
		}
	}
	return ($code, $prose);
}

# The same of a language whose comments begin with # in a line of their own
sub split_hash {
	my ($text, $docstrings) = @_;
	my ($code, $prose) = ('', '');
	for ($text =~ /("""(?:.*?)"""|[^\n]*\n|[^\n]+)/gs) {
		my $is_prose = /^\s*#(?!!)/ || ($docstrings && /^\s*"""/);
		$prose .= $is_prose ? $_ : blank($_);
		$code .= $is_prose ? blank($_) : $_;
	}
	return ($code, $prose);
}

# A manual page without its macros of fonts, and the head that has its name in capitals
sub plain_man {
	my ($text) = @_;
	$text =~ s/^\.(?:TH|\\").*$//gm;
	$text =~ s/^('\\").*$//gm;
	$text =~ s/\\f[A-Z]|\\&|\\c$//gm;
	$text =~ s/\\-/-/g;
	$text =~ s/^(\.(?:BR|IR) [\w.]+) \(\)/$1()/gm;
	return $text;
}

sub read_tree {
	find({ no_chdir => 1, wanted => sub {
		(my $name = $File::Find::name) =~ s{^\./}{};
		if (-d $_ && $name =~ m{^(?:build|\.git)$|(?:^|/)__pycache__$}) {
			$File::Find::prune = 1;
		} elsif (-d _) {
			$folder{$name} = 1;
		} elsif ($name ne '.git') {
			$file{$name} = 1;
		}
	} }, '.');

	for my $name (sort keys %file) {
		# Data, and what is said of things that have gone
		next if -l $name || !-T $name ||
			$name =~ m{\.(?:abi|json|svg|txt|css)$|^LICENSES/|^COPYING$|changelog$}i ||
			$name eq 'CHANGELOG.md';
		open my $handle, '<', $name or die "$name: $!\n";
		my $text = do { local $/; <$handle> } // '';
		if ($name =~ /\.md$/ || $name eq 'MAINTAINERS') {
			$prose{$name} = $text;
		} elsif ($name =~ m{^userspace/man/}) {
			$prose{$name} = plain_man($text);
		} elsif ($name =~ /\.(?:c|h|cc|hpp|rs|go|js)$/) {
			($code{$name}, $prose{$name}) = split_c($text);
		} elsif ($name =~ /\.patch$/) {
			$code{$name} = $text;
		} else {
			($code{$name}, $prose{$name}) = split_hash($text, $name =~ /\.py$/);
		}
	}
}

# What the code has: its words, what is called or defined, the members of structs
sub read_code {
	while (my ($name, $text) = each %code) {
		next if $name eq $me;
		$word{$1} = 1 while $text =~ /([A-Za-z_]\w*)/g;
		$called{$1} = 1 while $text =~ /([A-Za-z_]\w*)[ \t]*\(/g;
		$called{$1} = 1 while $text =~ /^(?:sub|function) (\w+)/gm;
		$member{$1} = 1 while $text =~ /(?:->|\.)([A-Za-z_]\w*)/g;
		while ($text =~ /^struct (twheel_\w+) \{(.*?)^\}/gms) {
			my ($struct, $body) = ($1, $2);
			$member_of{$struct}{$1} = $member{$1} = 1 while $body =~ /(\w+)/g;
		}
	}
	# The examples on a page have names of their own, but none that are twheel's.
	for my $name (grep { m{\.md$|^userspace/man/} } keys %prose) {
		while ($prose{$name} =~ /^(?:```\w+\n(.*?)^```|\.EX\n(.*?)^\.EE|\.nf\n(.*?)^\.fi)/gms) {
			for (($1 // $2 // $3) =~ /([A-Za-z_]\w*)/g) {
				$word{$_} = $called{$_} = 1 unless /^twheel_/i;
			}
		}
	}
}

# Is @name how a word of the code begins, or ends?
sub is_part {
	my ($name) = @_;
	# As in part_NAME: what is in capitals stands for something.
	$name =~ s/(?<=[a-z]_)[A-Z]+$//;
	$words //= "\n" . join("\n", keys %word) . "\n";
	return $name =~ /_$/ ? $words =~ /\n\Q$name\E/ : $name =~ /^_/ && $words =~ /\Q$name\E\n/;
}

sub is_word {
	my ($name) = @_;
	return $word{$name} || $word{"CONFIG_$name"} || is_part($name);
}

# The names that a text has which the tree has not: name => [[file, line, what was said]...]
my %missing;

sub miss {
	my ($name, $file, $line, $said) = @_;
	push @{$missing{$name}}, [$file, $line, $said // "file $name"];
}

# A path from the top, from the folder of the file @where, or the end of one. What is in capitals
# stands for something; a test may be named without what its source ends in.
sub is_file {
	my ($path, $where) = @_;
	(my $near = ($where =~ s{[^/]*$}{}r) . $path) =~ s{(?:^|/)\.(?=/)}{}g;
	1 while $near =~ s{(^|/)(?!\.\./)[^/]+/\.\./}{$1};
	return 1 if $file{$path} || $folder{$path} || $file{$near} || $folder{$near};
	return 1 if grep { -e "$_/$path" || -e "$_/../$path" } @ARGV;
	$paths //= "\n" . join("\n", keys %file, keys %folder) . "\n";
	my $pattern = quotemeta $path;
	$pattern =~ s/(?<![A-Za-z])[A-Z]+(?![A-Za-z])/[^\/\n]+/g unless $path =~ /\.md$/;
	return $paths =~ m{[/\n]$pattern(?:\.c|\.sh)?\n};
}

my $ending = qr/(?:c|h|cc|hpp|sh|pl|py|awk|mk|patch|rs|go|js|md|txt|svg|spec|map|config|explained)/;
my $room = qr/(?:module|Documentation|selftests|userspace|uapi|packaging|debian|stress|hostile)/;

sub read_prose {
	for my $name (sort keys %prose) {
		my $text = $prose{$name};
		my $page = !$code{$name};
		my $line = 0;
		for (split /\n/, $text) {
			$line++;
			s{\w+://\S+}{}g;

			# `quota.c` `one()`, `two()`
			while ($page && /`([\w.-]+\.[ch])`((?:,? (?:and )?`\w+\(\)`)+)/g) {
				my ($in, $functions) = ($1, $2);
				my ($path) = grep { m{^module/\w+/\Q$in\E$} } keys %file or next;
				for ($functions =~ /(\w+)\(/g) {
					!$called{$_} || $code{$path} =~ /\b\Q$_\E[ \t]*\(/ or
						finding($name, $line, "$_() is not in $path");
				}
			}

			s{(?<![\w./~\$*\{\}<>:+%@-])
			  ( [\w./-]*\w\.$ending\b (?![\w*-]|\.\w|/)
			  | $room/[\w./-]*[\w/] (?![\w*\$\{<]) )}{
				(my $path = $1) =~ s{/$}{};
				# Neither what is built nor what is on the machine that it is for
				is_file($path, $name) or $path =~ m{^(?:/|build/)} or
					miss($path, $name, $line);
				' ';
			}gex;

			# Other manual pages
			s/\b(?!twheel)\w+ ?\(\d\)//g;

			while (/(?<![\w\$-])([A-Za-z_]\w*)(\(\))?/g) {
				my ($word, $function) = ($1, $2);
				if ($function ? $called{$word} || ($word =~ /^_/ && is_part($word)) :
						$word !~ /_/ || is_word($word)) {
					next;
				}
				miss($word, $name, $line, $function ? "$word()" : $word);
			}
			while (/\b(twheel_\w+)\.(\w+)(?!\w*\()/g) {
				my ($struct, $field) = ($1, $2);
				!$member_of{$struct} || $member_of{$struct}{$field} or
					finding($name, $line, "struct $struct has no member $field");
			}
			while (/->(\w+)(?!\w*\()/g) {
				$member{$1} or finding($name, $line, "no struct has a member $1");
			}
		}
	}
}

# Of what is missing most is the kernel's or the C library's.
sub look_outside {
	my @names = grep { m{^\w+$} && !$elsewhere{$_} } keys %missing;
	if (@names && @ARGV) {
		open my $grep, '-|', 'grep', '-rhowE', join('|', sort @names), @ARGV or die "grep: $!\n";
		while (<$grep>) {
			chomp;
			delete $missing{$_};
		}
	}
	for my $name (sort keys %missing) {
		next if $elsewhere{$name} && ++$used{$name};
		finding($_->[0], $_->[1], "there is no $_->[2]") for @{$missing{$name}};
	}
	# An exception that nobody needs any more hides the next mistake.
	if ($file{$me}) {
		finding($me, 1, "nobody names $_")
			for grep { !$used{$_} } sort keys %elsewhere;
	}
}

# The lock order: what stands in the section of design.md
sub locks {
	my $page = 'Documentation/design.md';
	my $order = ($prose{$page} // '') =~ /^## Lock order\n(.*?)(?:^## |\z)/ms ? "$1" : '';
	my $type = qr/(?:(?:raw_)?spinlock_t|rwlock_t|seqlock_t|struct (?:mutex|rw_semaphore|rt_mutex))/;

	for my $name (sort grep { m{^module/} } keys %code) {
		my ($struct, $line) = ('', 0);
		for (split /\n/, $code{$name}) {
			$line++;
			$struct = "$1." if /^struct (\w+) \{/;
			$struct = '' if /^\}/;
			my $lock = /\bDEFINE_(?:RAW_)?(?:SPINLOCK|MUTEX|RWLOCK|SEQLOCK)\((\w+)\)/ ||
				/\bDEFINE_PER_CPU\w*\($type, (\w+)\)/ ||
				/^\s*(?:static )?$type\s+(\w+)[^;()*]*;/ ? $1 : next;
			$order =~ /(?<![\w.])\Q$struct$lock\E\b/ or
				finding($name, $line, "$struct$lock is not in the lock order of $page");
		}
	}
}

# In a tarball there are no commits; and of a shallow clone the first one brings all files.
sub subjects {
	-e '.git' or return;
	my ($since) = reverse `git log --follow --diff-filter=A --format=%H -- $me`;
	defined $since or return;
	chomp $since;
	open my $log, '-|', 'git', 'log', '--no-merges', '--format=%h %s', "$since..HEAD"
		or die "git: $!\n";
	while (<$log>) {
		my ($commit, $subject) = /^(\S+) (.*)$/ or next;
		my $length = $subject =~ tr/\x80-\xbf//c;
		$length <= 72 or finding($commit, 1, "the subject has $length characters: $subject");
	}
}

read_tree();
read_code();
read_prose();
look_outside();
locks();
subjects();
exit !!$failed;
