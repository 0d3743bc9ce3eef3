#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# scaling.pl - simulate CPUs that share locks and cache lines, for Documentation/scaling.md
#
# usage: scaling.pl			print the tables
#	 scaling.pl PAGE		put them into PAGE, between the lines "<!-- scaling -->"
#					and "<!-- scaling: end -->"
#	 scaling.pl check N THINK HOLD MOVE	what N CPUs reach that need one lock, whose line
#					moves in MOVE ns: with times that are exponentially
#					distributed, and by the formula for that (if MOVE is 0);
#					with constant times, and what bounds that. In operations
#					a microsecond; THINK and HOLD are in ns
#
# A CPU works, takes a lock, works with it, and so on. Those that wait for a lock get it in the
# order in which they came. A CPU that takes a lock that another one had before first waits for
# cache lines to come from there: that of the lock, and those of what the lock guards.

use strict;
use warnings;

my @cpus = (1, 2, 4, 8, 16, 32, 64);
# Entries of a batch that are carried out at a time
my $part = 32;

# Measured: ns of an operation and its instructions; and those of them that cannot do without the
# context's lock or, with keys, without that of the key
my @operations = ('arm', 'cancel', 'expire', 'deliver', 'push back', 'pull forward',
		  'arm, keyed', 'cancel, keyed');
my %measured = (
	'arm'		=> [ 64.5, 656, 62 ],
	'cancel'	=> [ 33.1, 290, 38 ],
	'expire'	=> [ 52.2, 147, 83 ],
	'deliver'	=> [ 22.5, 276, 212 ],
	'push back'	=> [ 32.4, 298, 0 ],
	'pull forward'	=> [ 46.3, 575, 0 ],
	# No ns of the present table of keys yet: as many for an instruction as an arm takes
	'arm, keyed'	=> [ 135, 1371, 200 ],
	'cancel, keyed'	=> [ 66, 675, 45 ],
);
# ns of an instruction with the lock at most: of what takes longer the rest waits for memory,
# which is before the lock is taken
my $insn = 0.11;

# Assumed: ns until a cache line comes from a CPU of the same socket and from one of the other;
# CPUs of a socket; lines that a CPU waits for at once; ns of an atomic operation; and ns to go
# from the lock of one base to that of another, beside the line: both locks, and the clock anew
my %assumed = (near => 40, far => 100, socket => 32, overlap => 4, atomic => 5, relock => 25);
# Cache lines with the locks of keys: those of a line are taken for one.
my $key_lines = 16;
# How many timers a CPU counts by itself
my $batch = 64;
# Once in so many parts a chunk is made or freed, or timers are reserved or given back: that is in
# 251 operations or fewer, as counted for a program whose number of timers changes by 256 at random.
my $parts_a_chunk = 7;
# The lines of the timers of a part, as far as a CPU waits for one after another
my $lines = $part / $assumed{overlap};

# What is simulated: how many CPUs; for each lock the CPU that has it, the one that had it last,
# and those that wait; how often the counter changed, how often it had when each CPU read it, and
# what each CPU has counted by itself
my ($n, %held, %last, %queue, $changed, @seen, @local);

sub transfer {
	my ($from, $to) = @_;

	return 0 if !defined $from || $from == $to;
	return $assumed{int($from / $assumed{socket}) == int($to / $assumed{socket}) ?
			'near' : 'far'};
}

# @cpu gets @lock: how long it then waits for its line and for @more
sub take {
	my ($cpu, $lock, $more) = @_;
	my $wait = (1 + $more) * transfer($last{$lock}, $cpu);

	$held{$lock} = $last{$lock} = $cpu;
	return $wait;
}

# @cpu adds @change to the counter; to that of all CPUs once its own has reached $batch. Returns
# how long it waits for the line, and more steps.
sub count {
	my ($cpu, $change) = @_;
	my $wait = ($seen[$cpu] // 0) < $changed ? transfer($last{count}, $cpu) : 0;
	my $full = abs($local[$cpu] += $change) >= $batch;

	$local[$cpu] = 0 if $full;
	$seen[$cpu] = $changed += $full;
	return ($wait, $full ? locked('count', 0, $assumed{atomic}) : ());
}

# Have @n CPUs take @turns turns each. $turn->(CPU, NUMBER) returns the steps of one:
#	work NS; fetch LINES from any CPU; lock NAME LINES; unlock NAME; count CHANGE
# $law gives each time from its mean. Returns turns a microsecond.
sub simulate {
	my ($turn, $law, $turns) = @_;
	my ($done, $begun, $now, $warm) = (0, 0, 0, int($n * $turns / 5));
	my (@steps, @events);

	srand 1;
	my @number = map { int rand 48 } 1 .. $n;
	(%held, %last, %queue, @seen) = ();
	@local = (0) x $n;
	$changed = 0;
	my $at = sub {
		my ($time, $cpu) = @_;
		my $i = @events;
		$i-- while $i && $events[$i - 1][0] < $time;
		splice @events, $i, 0, [ $time, $cpu ];
	};
	$at->($law->(1000), $_) for 0 .. $n - 1;

	while ($done < $n * $turns) {
		my $cpu;
		($now, $cpu) = @{pop @events};
		if (!@{$steps[$cpu] // []}) {
			# All CPUs first find their places.
			$begun = $now if $steps[$cpu] && ++$done == $warm;
			$steps[$cpu] = [ $turn->($cpu, $number[$cpu]++) ];
		}
		my ($what, $arg, $more) = @{shift @{$steps[$cpu]}};
		my ($wait, @next) = (0);
		if ($what eq 'work') {
			$wait = $law->($arg);
		} elsif ($what eq 'fetch') {
			$wait = $arg * transfer(int rand $n, $cpu);
		} elsif ($what eq 'count') {
			($wait, @next) = count($cpu, $arg);
		} elsif ($what eq 'unlock') {
			my $first = shift @{$queue{$arg}};
			$held{$arg} = undef;
			$at->($now + take($first->[0], $arg, $first->[1]), $first->[0]) if $first;
		} elsif (defined $held{$arg}) {
			push @{$queue{$arg}}, [ $cpu, $more ];
			next;
		} else {
			$wait = take($cpu, $arg, $more);
		}
		unshift @{$steps[$cpu]}, @next;
		$at->($now + $wait, $cpu);
	}
	return ($done - $warm) / ($now - $begun) * 1000;
}

sub ns { return $measured{$_[0]}[0] }

# ns that @op holds a lock for
sub held {
	my ($ns, $all, $locked) = @{$measured{$_[0]}};

	return $locked * ($ns / $all < $insn ? $ns / $all : $insn);
}

sub locked {
	my ($lock, $more, $ns) = @_;

	return ([ 'lock', $lock, $more ], [ 'work', $ns ], [ 'unlock', $lock ]);
}

# A turn is a part of a batch of 256: eight of them arm, and the next eight cancel.
sub arm_or_cancel { return $_[0] % 16 < 8 ? 'arm' : 'cancel' }

sub count_part {
	my $op = arm_or_cancel($_[1]);

	return ([ 'work', $part * ns($op) ], [ 'count', $op eq 'arm' ? $part : -$part ]);
}

# What needs the context's lock is done with the free timers of a part.
sub own_chunk {
	my (undef, $number, $op) = @_;

	$op //= arm_or_cancel($number);
	return ([ 'work', $part * ns($op) ],
		$number % $parts_a_chunk ? () : locked('ctx', 3, held($op)));
}

sub life {
	my ($cpu, $number) = @_;

	# Two of three turns may need a chunk: they are counted.
	return own_chunk($cpu, int $number * 2 / 3, 'arm') if $number % 3 == 0;
	return [ 'work', $part * ns('expire') ] if $number % 3 == 1;
	return own_chunk($cpu, int $number * 2 / 3, 'deliver');
}

# The line of a lock comes with it, and that of the bucket.
sub key_locks {
	my $op = arm_or_cancel($_[1]) . ', keyed';
	my $held = held($op);

	return map { ([ 'work', ns($op) - $held ],
		      locked('key' . int rand $key_lines, 1, $held)) } 1 .. $part;
}

# Timers of any CPU: how much longer it takes, as most are not where the last one was
sub relock { return $assumed{relock} * ($n - 1) / $n }

# It takes @ns.
sub push_back_of_any {
	my $ns = shift;

	return ([ 'fetch', $lines ], map { locked('base' . int rand $n, 0, $ns) } 1 .. $part);
}

sub push_back { return push_back_of_any(ns('push back') + relock()) }

# What a lock for each CPU allows, however little is done with it
sub only_lock { return push_back_of_any($assumed{atomic}) }

# The lines of a timer and its neighbours; first its base is locked alone, and then both.
sub pull_forward {
	my $cpu = shift;

	return ([ 'fetch', 3 * $lines ], map {
		my $from = int rand $n;
		my @both = map { "base$_" } $from == $cpu ? $cpu : sort { $a <=> $b } $from, $cpu;
		(locked("base$from", 0, relock()), (map { [ 'lock', $_, 0 ] } @both),
		 [ 'work', ns('pull forward') + relock() ], map { [ 'unlock', $_ ] } @both)
	} 1 .. $part);
}

my @rows = (
	[ 'push back timers of the own CPU, any descriptor',
	  sub { return [ 'work', $part * ns('push back') ] } ],
	[ 'a descriptor each: arm, cancel', \&count_part ],
	[ 'one descriptor: arm, cancel', \&own_chunk ],
	[ 'one descriptor: arm, expire, read', \&life ],
	[ 'one descriptor, keys: arm, cancel', \&key_locks ],
	[ 'one descriptor: push back timers of all CPUs', \&push_back ],
	[ 'the same, if it were nothing but to lock and unlock', \&only_lock ],
	[ 'one descriptor: pull forward timers of all CPUs', \&pull_forward ],
);

sub exponential { return -$_[0] * log(1 - rand) }
sub constant { return $_[0] }
# Nearly constant, so that CPUs fall out of step
sub even { return $_[0] * (0.9 + rand 0.2) }

# Turns a microsecond by the formula of the machine repairman: @cpus are the machines
sub repairman {
	my ($cpus, $think, $hold) = @_;
	my ($p, $sum) = (1, 1);

	$sum += $p *= ($cpus - $_ + 1) * $hold / $think for 1 .. $cpus;
	return (1 - 1 / $sum) / $hold * 1000;
}

sub check {
	my ($think, $hold, $move);
	($n, $think, $hold, $move) = @_;
	my $turn = sub { return ([ 'work', $think ], locked('one', 0, $hold)) };
	my $all = $hold + ($n > 1 ? $move : 0);
	my ($free, $full) = ($n / ($think + $all) * 1000, 1 / $all * 1000);

	$assumed{near} = $assumed{far} = $move;
	printf "%.3f %.3f %.3f %.3f\n", simulate($turn, \&exponential, 100000 / $n),
		repairman($n, $think, $hold), simulate($turn, \&constant, 200), $free < $full ? $free : $full;
}

sub tables {
	my $out = "| measured | ns | ns that need a lock |\n| --- | ---: | ---: |\n";

	$out .= sprintf "| %s | %s%.1f | %.1f |\n", $_, /keyed/ ? '~' : '', ns($_), held($_)
		for @operations;
	$out .= "\n| assumed | |\n| --- | ---: |\n" .
		"| a cache line from a CPU of the same socket | $assumed{near} ns |\n" .
		"| a cache line from a CPU of the other socket | $assumed{far} ns |\n" .
		"| CPUs of a socket | $assumed{socket} |\n" .
		"| lines that a CPU waits for at once | $assumed{overlap} |\n" .
		"| an atomic operation, with its line at hand | $assumed{atomic} ns |\n" .
		"| from one base's lock to another's, with the line at hand | $assumed{relock} ns |\n";
	$out .= "\n| simulated: million operations a second, by CPUs | " . join(' | ', @cpus) .
		" |\n| --- |" . ' ---: |' x @cpus . "\n";
	for my $row (@rows) {
		$out .= "| $row->[0]";
		for (@cpus) {
			$n = $_;
			my $x = $part * simulate($row->[1], \&even, $n < 16 ? 8 + 256 / $n : 24);
			$out .= sprintf $x < 9.95 ? ' | %.1f' : ' | %.0f', $x;
		}
		$out .= " |\n";
	}
	return $out;
}

if (@ARGV == 5 && $ARGV[0] eq 'check') {
	check(@ARGV[1 .. 4]);
} elsif (@ARGV == 0) {
	print tables();
} elsif (@ARGV == 1) {
	open my $page, '+<', $ARGV[0] or die "$ARGV[0]: $!\n";
	my $text = do { local $/; <$page> };
	my ($before, $after) = $text =~ /(.*<!-- scaling -->\n).*?(<!-- scaling: end -->.*)/s
		or die "$ARGV[0]: no line <!-- scaling -->, or none that ends it\n";
	$text = $before . tables() . $after;
	seek $page, 0, 0;
	truncate $page, 0;
	print $page $text;
} else {
	die "usage: scaling.pl [PAGE | check N THINK HOLD MOVE]\n";
}
