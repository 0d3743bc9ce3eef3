#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# report.pl - make results.tsv of the lines that the programs of make bench printed
#
# usage: report.pl FOLDER >results.tsv
#
# Each file in the folder that begins so is a part of the run, and any may be missing:
#
#	about		lines "key<TAB>value": commit, date, form (whole or quick), machine
#	guest*		lines of speed, from a guest
#	shared*		the same, of threads that share a descriptor
#	host*		lines of speed, from this machine's own kernel
#	uml*		lines of speed and of peers.ko, from user-mode Linux
#	process*	lines of speed, of what lives in the process, from this machine's own kernel
#	apart*		the same, of threads with a context each
#	together*	the same, of threads that share a context
#	situations*	lines of situations.sh, from a guest
#
# A figure of "-", and one column more with the reason, is one that could not be measured.
# A line "# kernel: NAME" says on which kernel what follows was measured, and a line
# "# missing: WHY" why there are no figures of a part.
#
# Results.pm says what comes out.
#
# Figures with the place "native" are twheel's from user-mode Linux with its system calls
# replaced by those of this machine. A call takes a hundred times as long there, so the
# floor, an empty ioctl measured in the same run, is taken off for each call that an operation
# takes, and the floor on this machine is put back. The other facilities are native as they
# are, on this machine's kernel; the kernel's own timers are in user-mode Linux, where they
# take no system call. Of uml and host only the floors are kept beside them.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use POSIX ();
use Results;

# By key: { what it is, and of what has values: values => [ ... ], files => [ ... ], where each
# value has the number of the file that it is from }
my %figure;
my $file_number = '';
my %about;

# add KEY, WHAT, VALUE, REASON - a value of what the key names, and what the results say of it
sub add {
	my ($key, $what, $value, $why) = @_;
	my $figure = $figure{$key} //= { %$what };

	if ($value eq '-') {
		$figure->{reason} = $why;
		return;
	}
	push @{$figure->{values}}, $value;
	push @{$figure->{files}}, $file_number;
}

sub add_speed {
	my ($place, $kernel, @fields) = @_;
	my ($facility, $size, $operation, $pending, $threads, @value) = @fields;

	add(join(' ', $place, $facility, $operation, $pending, $size, $threads),
	    { unit => 'ns', kernel => $kernel, place => $place, facility => $facility,
	      operation => $operation, pending => 0 + $pending, batch => 0 + $size,
	      threads => 0 + $threads }, @value);
}

sub add_situation {
	my (undef, $kernel, $what, @fields) = @_;

	if ($what eq 'accuracy') {
		my ($facility, $situation, $part, @value) = @fields;
		add("accuracy $facility $situation $part",
		    { unit => 'ns', kernel => $kernel, facility => $facility,
		      situation => $situation, lateness => $part }, @value);
	} elsif ($what eq 'silence') {
		my ($situation, undef, @value) = @fields;
		add("silence $situation", { unit => 'interrupts', kernel => $kernel,
					    situation => $situation }, @value);
	} else {
		my ($facility, $pending, @value) = @fields;
		add("memory $facility $pending",
		    { unit => 'bytes', kernel => $kernel, facility => $facility,
		      pending => 0 + $pending }, @value);
	}
}

sub add_about {
	my (undef, undef, $key, $value) = @_;

	$about{$key} = $value;
}

my $value = qr/(?:[0-9]+(?:\.[0-9]+)?|-\t[^\t]+)/;
# The parts: what lines look like, and what is done with their fields
my $speed = [ qr/^[a-z][\w-]*\t\d+\t\w+\t\d+\t\d+\t$value$/, \&add_speed ];
my %part = (
	about		=> [ qr/^\w+\t[^\t]+$/, \&add_about ],
	guest		=> $speed,
	shared		=> $speed,
	host		=> $speed,
	uml		=> $speed,
	process		=> $speed,
	apart		=> $speed,
	together	=> $speed,
	situations	=> [ qr/^(accuracy(\t[\w-]+){3}|silence\t[^\t]+\tinterrupts|
			      memory\t[\w-]+\t\d+)\t$value$/x,
			     \&add_situation ],
);

sub read_part {
	my ($part, $file) = @_;
	my ($like, $add) = @{$part{$part}};
	my $kernel = 'unknown';

	($file_number) = $file =~ /(\.[0-9]+|)$/;
	open my $in, '<', $file or die "report.pl: $file: $!\n";
	while (my $line = <$in>) {
		chomp $line;
		$kernel = $1 if $line =~ /^# kernel: (.+)/;
		$about{"missing $part"} = $1 if $line =~ /^# missing: (.+)/;
		# What a program complained of comes in between, from the console of a guest.
		next if $line =~ /^(#|$|speed: )/;

		die "report.pl: $file:$.: no such line: $line\n" unless $line =~ $like;
		$add->($part, $kernel, split /\t/, $line);
	}
	close $in;
}

sub median {
	my @sorted = sort { $a <=> $b } @_;
	my $half = int(@sorted / 2);

	return @sorted % 2 ? $sorted[$half] : ($sorted[$half - 1] + $sorted[$half]) / 2;
}

sub settle {
	my ($figure) = @_;

	$figure->{commit} = $about{commit} // 'unknown';
	return unless $figure->{values};
	my @sorted = sort { $a <=> $b } @{$figure->{values}};

	$figure->{rounds} = scalar @sorted;
	$figure->{median} = rounded(median(@sorted));
	$figure->{low} = rounded($sorted[0]);
	$figure->{high} = rounded($sorted[-1]);
	$figure->{spread} = $figure->{median} ?
		rounded(($sorted[-1] - $sorted[0]) / $figure->{median}) : 0;
}

# How many system calls an operation of twheel's takes. See operations.c: a batch of 0 is of what
# takes none, and a heartbeat is one of 100 operations, or in batches as many as fit, after which
# there is a read, and a call to arm what has expired.
sub calls {
	my ($facility, $operation, $size) = @_;

	return 0 if $facility !~ /^twheel/ || !$size || $operation eq 'expire';
	return 1 / $size if $operation ne 'heartbeat';

	my $run = $size > 100 ? int($size / 100) : 1;
	my $pushes = $facility eq 'twheel-lease' ? 0 : POSIX::ceil(99 * $run / $size);
	return ($pushes + 2 * POSIX::ceil($run / $size)) / (100 * $run);
}

# The median of the floors of a place, in that file if there are any
sub floor_in {
	my ($place, $file) = @_;
	my ($floor) = map { $figure{$_} } grep { /^$place floor call / } sort keys %figure;

	return undef unless $floor && $floor->{values};
	my @there = grep { $floor->{files}[$_] eq $file } 0 .. $#{$floor->{files}};
	return median(@there ? @{$floor->{values}}[@there] : @{$floor->{values}});
}

# What is native: see above. What user-mode Linux takes for a call depends on what else this
# machine does at the moment, so the floor is that of the same round.
sub add_native {
	for my $key (sort keys %figure) {
		my ($place, $facility, $operation, $rest) = split ' ', $key, 4;
		next unless defined $rest && $facility ne 'floor';
		my $ours = $facility =~ /^(twheel.*|word|hrtimer|timer_list)$/;
		next unless $place eq ($ours ? 'uml' : 'host');

		my $calls = calls($facility, $operation, $figure{$key}{batch});
		my $what = $figure{"native $facility $operation $rest"} = delete $figure{$key};
		$what->{place} = 'native';
		next unless $calls && $what->{values};
		my @less = map { floor_in('uml', $_) } @{$what->{files}};
		my @more = map { floor_in('host', $_) } @{$what->{files}};
		if (!defined $less[0] || !defined $more[0]) {
			delete $what->{values};
			$what->{reason} = 'the floor was not measured';
			next;
		}
		# Where a call is nearly all of it, taking it off may leave nothing.
		my @values = @{$what->{values}};
		$what->{values} = [ map { my $rest = $values[$_] - $calls * ($less[$_] - $more[$_]);
					$rest > 0 ? $rest : 0 } 0 .. $#values ];
	}
}

die "usage: report.pl FOLDER >results.tsv\n" unless @ARGV == 1 && -d $ARGV[0];
for my $part (sort keys %part) {
	read_part($part, $_) for sort glob "$ARGV[0]/$part*";
}
add_native();
settle($_) for values %figure;
write_results(\%about, map { $figure{$_} } sort keys %figure);
