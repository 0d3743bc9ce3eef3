#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# report.pl - make results.json of the lines that the programs of make bench printed
#
# usage: report.pl FOLDER >results.json
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
#	insn*		lines "operation batch pending instructions"
#
# A figure of "-", and one column more with the reason, is one that could not be measured.
# A line "# kernel: NAME" says on which kernel what follows was measured, and a line
# "# missing: WHY" why there are no figures of a part.
#
# What comes out, in nanoseconds, bytes, instructions or counts, as "unit" says:
#
#	figures		one for each thing that was measured: median, lowest and highest of its
#			rounds, and spread, which is (highest - lowest) / median
#	missing		what could not be measured, and why
#	ratios		see %ratio below; null if one side was not measured, and then "reasons"
#			says which
#	goals		see @goals below: what was wanted, what was reached, and whether that
#			is enough; "met" is null if it was not measured
#
# Figures with the place "native" are twheel's from user-mode Linux with its system calls
# replaced by those of this machine. A call takes a hundred times as long there, so the
# floor, an empty ioctl measured in the same run, is taken off for each call that an operation
# takes, and the floor on this machine is put back. The other facilities are native as they
# are, on this machine's kernel; the kernel's own timers are in user-mode Linux, where they
# take no system call.

use strict;
use warnings;
use JSON::PP;
use POSIX ();

my $million = 1_000_000;
my $batch = 256;

# Whether a goal is met is asked of these, too. By name: ours, theirs, and what each of them
# is, all of them medians. A ratio is ours divided by theirs, so less is better.
#
# Each side is a key of figures, as speed_key() and others make them. A peer's batch is "best":
# the size of batch with the lowest median, as its users would choose it.
my %ratio = (
	arm_batch_vs_timerfd	=> [ ours('arm'), theirs('timerfd', 'arm') ],
	arm_batch_vs_io_uring	=> [ ours('arm'), theirs('io_uring', 'arm') ],
	rearm_batch_vs_timerfd	=> [ ours('random'), theirs('timerfd', 'random') ],
	rearm_single_vs_timerfd	=> [ speed_key('native', 'twheel', 'random', $million, 1),
				     theirs('timerfd', 'random') ],
	# What fits the cache: a thousand of each.
	lease_vs_timerfd	=> [ speed_key('native', 'twheel-lease', 'later', 1000, 'best'),
				     speed_key('native', 'timerfd', 'random', 1000, 'best') ],
	cancel_batch_vs_timerfd	=> [ ours('cancel'), theirs('timerfd', 'cancel') ],
	cancel_vs_io_uring_100k	=> [ speed_key('native', 'twheel', 'cancel', 100_000, $batch),
				     speed_key('native', 'io_uring', 'cancel', 100_000, 'best') ],
	deliver_vs_timerfd	=> [ ours('deliver'), theirs('timerfd', 'deliver') ],
	keyed_rearm_vs_handle	=> [ speed_key('native', 'twheel-keyed', 'random', $million, $batch),
				     ours('random') ],
	# In a guest, where both run in the same kernel: libtwheel takes system calls.
	object_rearm_vs_libuv	=> [ speed_key('guest', 'libtwheel', 'later', 100_000, 'best'),
				     speed_key('guest', 'libuv', 'later', 100_000, 'best') ],
	# Of one pending timer, at a million: no ratio, since its goal is a number of bytes.
	bytes_per_timer		=> [ memory_key('twheel', $million) ],
	insn_10m_vs_1k		=> [ insn_key('random', $batch, 10_000_000),
				     insn_key('random', $batch, 1000) ],
	# The median of the holds of a base's lock; "figures" has the longest, too.
	hold_1m_vs_10k		=> [ hold_key($million, 'median'), hold_key(10_000, 'median') ],
);

# Not among the ratios that everybody is promised, but goals.
my %other = (
	rearm_single_in_guest	=> [ speed_key('guest', 'twheel', 'random', $million, 1),
				     speed_key('guest', 'timerfd', 'random', $million, 'best') ],
	lease_vs_word		=> [ speed_key('native', 'twheel-lease', 'later', $million, 'best'),
				     speed_key('native', 'word', 'later', $million, 'best') ],
	insn_rearm		=> [ insn_key('later', $batch, $million) ],
	bytes_per_keyed_timer	=> [ memory_key('twheel-keyed', $million) ],
);

# What is measured, beside what, the ratio or figure, and its limit: "1/100" or a number.
my @goals = (
	[ "arm, batches of $batch", 'timerfd, its three calls', 'arm_batch_vs_timerfd', '1/100' ],
	[ "arm, batches of $batch", 'io_uring', 'arm_batch_vs_io_uring', '1/8' ],
	[ "re-arm a random one, batches of $batch", 'timerfd_settime', 'rearm_batch_vs_timerfd',
	  '1/30' ],
	[ 're-arm a random one, one ioctl', 'timerfd_settime', 'rearm_single_vs_timerfd', '1/4' ],
	[ 're-arm a random one, one ioctl, in a guest', 'timerfd_settime there',
	  'rearm_single_in_guest', '1/2' ],
	[ "cancel, batches of $batch", 'timerfd, disarm and close', 'cancel_batch_vs_timerfd',
	  '1/40' ],
	[ "cancel, 100 k pending", 'io_uring', 'cancel_vs_io_uring_100k', '1/10000' ],
	[ 'deliver', 'timerfd, epoll_wait and read', 'deliver_vs_timerfd', '1/20' ],
	[ 're-arm by key', 're-arm by handle', 'keyed_rearm_vs_handle', 2 ],
	[ 'push a lease back', 'a compare-and-swap', 'lease_vs_word', 1.3 ],
	[ 'push a lease back, 1 k pending', 'timerfd_settime, 1 k pending', 'lease_vs_timerfd',
	  '1/100' ],
	[ "push libtwheel's timer back, 100 k, in a guest", 'uv_timer_again there',
	  'object_rearm_vs_libuv', 1 ],
	[ 'instructions of a re-arm to later, in a batch', '', 'insn_rearm', 300 ],
	[ 'those of a random re-arm, 10 M pending', 'with 1 k', 'insn_10m_vs_1k', 1.05 ],
	[ 'memory of a pending timer', '', 'bytes_per_timer', 66 ],
	[ 'memory of a keyed one', '', 'bytes_per_keyed_timer', 90 ],
);

sub speed_key { return join ' ', @_, 1 }
sub ours { return speed_key('native', 'twheel', $_[0], $million, $batch) }
sub theirs { return speed_key('native', $_[0], $_[1], $million, 'best') }
sub memory_key { return "memory $_[0] $_[1]" }
sub insn_key { return "insn $_[0] $_[1] $_[2]" }
sub hold_key { return "hold $_[0] $_[1]" }

# By key: { what it is, values => [ ... ], files => [ ... ] }, where each value has the number
# of the file that it is from; and by key: why there is none.
my (%figure, %missing);
my $file_number = '';
my %about;
my %kernel;

# add KEY, WHAT, VALUE, REASON - a value of what the key names, and what the results say of it
sub add {
	my ($key, $what, $value, $why) = @_;

	if ($value eq '-') {
		$missing{$key} = $why;
		return;
	}
	$figure{$key} //= { %$what, values => [], files => [] };
	push @{$figure{$key}{values}}, $value;
	push @{$figure{$key}{files}}, $file_number;
}

sub add_speed {
	my ($place, $kernel, @fields) = @_;
	my ($facility, $size, $operation, $pending, $threads, undef, @value) = @fields;

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
	} elsif ($what eq 'memory') {
		my ($facility, $pending, @value) = @fields;
		add(memory_key($facility, $pending),
		    { unit => 'bytes', kernel => $kernel, facility => $facility,
		      pending => 0 + $pending }, @value);
	} else {
		my ($pending, $part, @value) = @fields;
		add(hold_key($pending, $part), { unit => 'ns', kernel => $kernel,
						 pending => 0 + $pending, hold => $part }, @value);
	}
}

sub add_instructions {
	my (undef, $kernel, $operation, $size, $pending, @value) = @_;

	add(insn_key($operation, $size, $pending),
	    { unit => 'instructions', kernel => $kernel, operation => $operation,
	      batch => 0 + $size, pending => 0 + $pending }, @value);
}

sub add_about {
	my (undef, undef, $key, $value) = @_;

	$about{$key} = $value;
}

my $value = qr/(?:[0-9]+(?:\.[0-9]+)?|-\t[^\t]+)/;
# The parts: what lines look like, and what is done with their fields
my $speed = [ qr/^[a-z][\w-]*\t\d+\t\w+\t\d+\t\d+\t\d+\t$value$/, \&add_speed ];
my %part = (
	about		=> [ qr/^\w+\t[^\t]+$/, \&add_about ],
	guest		=> $speed,
	host		=> $speed,
	uml		=> $speed,
	process		=> $speed,
	apart		=> $speed,
	together	=> $speed,
	situations	=> [ qr/^(accuracy(\t[\w-]+){3}|silence\t[^\t]+\tinterrupts|
			      memory\t[\w-]+\t\d+|hold\t\d+\t\w+)\t$value$/x,
			     \&add_situation ],
	insn		=> [ qr/^[\w-]+\t\d+\t\d+\t$value$/, \&add_instructions ],
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
		$missing{$part} = $1 if $line =~ /^# missing: (.+)/;
		# What a program complained of comes in between, from the console of a guest.
		next if $line =~ /^(#|$|speed: )/;

		die "report.pl: $file:$.: no such line: $line\n" unless $line =~ $like;
		$add->($part, $kernel, split /\t/, $line);
		$kernel{$part} = $kernel;
	}
	close $in;
}

sub median {
	my @sorted = sort { $a <=> $b } @_;
	my $half = int(@sorted / 2);

	return @sorted % 2 ? $sorted[$half] : ($sorted[$half - 1] + $sorted[$half]) / 2;
}

# A number with four digits that count, so that files can be compared by eye.
sub rounded { return 0 + sprintf '%.4g', $_[0] }

sub settle {
	my ($figure) = @_;
	my @sorted = sort { $a <=> $b } @{delete $figure->{values}};
	delete $figure->{files};

	$figure->{rounds} = scalar @sorted;
	$figure->{median} = rounded(median(@sorted));
	$figure->{low} = rounded($sorted[0]);
	$figure->{high} = rounded($sorted[-1]);
	$figure->{spread} = $figure->{median} ?
		rounded(($sorted[-1] - $sorted[0]) / $figure->{median}) : 0;
	$figure->{commit} = $about{commit} // 'unknown';
}

# How many system calls an operation of twheel's takes; nothing if that is not known. See
# measure.c: a batch of 0 is of what takes none, and a heartbeat is one of 100 operations, or
# in batches as many as fit, after which there is a read, and a call to arm what has expired.
sub calls {
	my ($facility, $operation, $size) = @_;

	return undef if $operation eq 'spread';
	return 0 if $facility !~ /^twheel/ || !$size || $operation eq 'expire';
	return 1 / $size if $operation ne 'heartbeat';

	my $run = $size > 100 ? int($size / 100) : 1;
	my $pushes = $facility eq 'twheel-lease' ? 0 : POSIX::ceil(99 * $run / $size);
	return ($pushes + 2 * POSIX::ceil($run / $size)) / (100 * $run);
}

# The median of the floors of a place, in that file if there are any
sub floor_in {
	my ($place, $file) = @_;
	my ($floor) = map { $figure{$_} } grep { /^$place floor / } sort keys %figure;

	return undef unless $floor;
	my @there = grep { $floor->{files}[$_] eq $file } 0 .. $#{$floor->{files}};
	return median(@there ? @{$floor->{values}}[@there] : @{$floor->{values}});
}

# What is native: see above. What user-mode Linux takes for a call depends on what else this
# machine does at the moment, so the floor is that of the same round.
sub add_native {
	my %seen;

	for my $key (grep { !$seen{$_}++ } sort keys %figure, keys %missing) {
		my ($place, $facility, $operation, $rest) = split ' ', $key, 4;
		next unless defined $rest && $facility ne 'floor';
		my $ours = $facility =~ /^(twheel.*|word|hrtimer|timer_list)$/;
		next unless $place eq ($ours ? 'uml' : 'host');

		my $native = "native $facility $operation $rest";
		$missing{$native} = $missing{$key} if defined $missing{$key};
		next unless $figure{$key};

		my %what = %{$figure{$key}};
		my $calls = calls($facility, $operation, $what{batch});
		next unless defined $calls;
		my @values = @{$what{values}};
		if ($calls) {
			my @less = map { floor_in('uml', $_) } @{$what{files}};
			my @more = map { floor_in('host', $_) } @{$what{files}};
			if (!defined $less[0] || !defined $more[0]) {
				$missing{$native} = 'the floor was not measured';
				next;
			}
			# Where a call is nearly all of it, taking it off may leave nothing.
			@values = map { my $rest = $values[$_] - $calls * ($less[$_] - $more[$_]);
					$rest > 0 ? $rest : 0 } 0 .. $#values;
		}
		$figure{$native} = { %what, place => 'native', values => \@values };
	}
}

# The keys that a key with the batch "best" may stand for
sub pattern {
	return join ' ', map { $_ eq 'best' ? '[0-9]+' : quotemeta } split ' ', $_[0];
}

# The figure of a key, with the best of the batches if it says so; nothing if there is none.
sub find {
	my $pattern = pattern(@_);
	my @found = sort { $figure{$a}{median} <=> $figure{$b}{median} || $a cmp $b }
		grep { /^$pattern$/ } keys %figure;

	return @found ? $figure{$found[0]} : undef;
}

# Which parts a figure comes from.
sub parts_of {
	my ($key) = @_;
	my ($first, $facility) = split ' ', $key;

	return $facility =~ /^twheel/ ? ('uml', 'host') : 'host' if $first eq 'native';
	return $first =~ /^(guest|insn)$/ ? $first : 'situations';
}

sub why {
	my ($key) = @_;
	my $pattern = pattern($key);
	my ($told) = grep { /^$pattern$/ } sort keys %missing;
	my ($part) = grep { !$kernel{$_} || $missing{$_} } parts_of($key);

	my $why = $told ? $missing{$told} : $part ? $missing{$part} // "no part \"$part\"" :
		'not measured';
	return "$key: $why";
}

# What was reached of a ratio, or nothing and a reason.
sub reach {
	my ($name) = @_;
	my @sides = @{$ratio{$name} // $other{$name}};
	my @figures = map { find($_) } @sides;
	my @lost = grep { !$figures[$_] } 0 .. $#sides;

	return (undef, why($sides[$lost[0]])) if @lost;
	return ($figures[0]{median}, undef, @figures) if @figures == 1;
	return (undef, "$sides[1]: nothing") unless $figures[1]{median};
	# Below what taking off a floor can tell there is no ratio.
	return (undef, "$sides[0]: less than the error of taking off the floor")
		unless $figures[0]{median};
	return (rounded($figures[0]{median} / $figures[1]{median}), undef, @figures);
}

sub judge {
	my ($what, $beside, $name, $limit) = @{$_[0]};
	my ($reached, $why, @figures) = reach($name);
	my $most = $limit =~ m{^1/(\d+)$} ? 1 / $1 : $limit;
	my %goal = (what => $what, beside => $beside, name => $name, goal => "$limit",
		    reached => $reached, met => undef);

	$goal{reason} = $why if defined $why;
	return \%goal unless defined $reached;
	$goal{met} = $reached <= $most ? JSON::PP::true : JSON::PP::false;
	$goal{unit} = $figures[0]{unit};
	$goal{ours} = $figures[0]{median};
	$goal{theirs} = $figures[1]{median} if $figures[1];
	return \%goal;
}

die "usage: report.pl FOLDER >results.json\n" unless @ARGV == 1 && -d $ARGV[0];
for my $part (sort keys %part) {
	read_part($part, $_) for sort glob "$ARGV[0]/$part*";
}
add_native();
settle($_) for values %figure;

my (%reached, %reasons);
for my $name (keys %ratio) {
	my ($value, $why) = reach($name);
	$reached{$name} = $value;
	$reasons{$name} = $why if defined $why;
}
@goals = () if ($about{form} // '') eq 'process';
%reasons = () unless @goals;
%reached = () unless @goals;
print JSON::PP->new->pretty->canonical->encode({
	about => \%about,
	figures => [ map { $figure{$_} } sort keys %figure ],
	missing => [ map { { what => $_, reason => $missing{$_} } } sort keys %missing ],
	ratios => \%reached,
	reasons => \%reasons,
	goals => [ map { judge($_) } @goals ],
});
