# SPDX-License-Identifier: GPL-2.0-only
#
# Results.pm - results.tsv and process.tsv, as the scripts of make bench write and read them,
# and the goals that are asked of them
#
# A file begins with lines "# key: value": commit, date, form (whole, quick or process), machine,
# guests, and "missing PART" with the reason why a part of the run has no figures. Then come a
# line with the names of the columns and a line for each figure, separated by tabs:
#
#	unit		ns, bytes, or interrupts
#	place		where: guest, shared, host, uml, native, process, apart or together; see
#			report.pl
#	facility, operation, pending, batch, threads, situation, lateness
#			of what. What does not apply is empty
#	median, low, high
#			of the rounds
#	spread		(high - low) / median
#	rounds		how many there were
#	reason		why a round has no figure. If none has, median to rounds are empty
#	kernel, commit	what was measured
#
# Instructions depend on the kernel and the compiler, and not on the machine. They are kept in
# insn.txt beside such a file: a line for each operation, batch and number of pending timers. See
# insn.sh.
package Results;

use strict;
use warnings;
use Exporter 'import';
use File::Basename 'dirname';

our @EXPORT = qw(read_results write_results figures rounded goals);

my @columns = qw(unit place facility operation pending batch threads situation lateness
		 median low high spread rounds reason kernel commit);

# write_results ABOUT, FIGURE... - print a file, with the figures in this order
sub write_results {
	my ($about, @figures) = @_;

	print "# $_: $about->{$_}\n" for sort keys %$about;
	print join("\t", @columns), "\n";
	print join("\t", map { $_ // '' } @{$_}{@columns}), "\n" for @figures;
}

# read_instructions FILE - the figures in it, of its first section
sub read_instructions {
	my ($file) = @_;
	my (@figures, $section);

	open my $in, '<', $file or die "$0: $file: $!\n";
	while (my $line = <$in>) {
		next if $line =~ /^#/;
		if ($line =~ /^\[(.+)\]$/) {
			last if defined $section;
			$section = $1;
			next;
		}
		$line =~ /^([\w-]+)\t(\d+)\t(\d+)\t([\d.]+)$/ or
			die "$0: $file:$.: no such line: $line";
		push @figures, { unit => 'instructions', kernel => $section, operation => $1,
				 batch => $2, pending => $3, median => rounded($4) };
	}
	close $in;
	return @figures;
}

# read_results FILE - what it says, and what insn.txt beside it does: { about => { key => value },
# figures => [ { column => value } ], missing => [ those with a reason ] }, without the columns
# that are empty
sub read_results {
	my ($file) = @_;
	my (%results, @names);

	@results{qw(about figures missing)} = ({}, [], []);
	open my $in, '<', $file or die "$0: $file: $!\n";
	while (my $line = <$in>) {
		chomp $line;
		if ($line =~ /^# (.+?): (.+)/) {
			$results{about}{$1} = $2;
			next;
		}
		my @fields = split /\t/, $line, -1;
		if (!@names) {
			@names = @fields;
			next;
		}
		die "$0: $file:$.: ${\scalar @fields} columns, not ${\scalar @names}\n"
			unless @fields == @names;
		my %figure;
		@figure{@names} = @fields;
		delete @figure{grep { $figure{$_} eq '' } @names};
		push @{$results{figures}}, \%figure if defined $figure{median};
		push @{$results{missing}}, \%figure if defined $figure{reason};
	}
	close $in;
	my $insn = dirname($file) . '/insn.txt';
	push @{$results{figures}}, read_instructions($insn) if -e $insn;
	return \%results;
}

sub those_that_are {
	my ($figures, %what) = @_;

	return grep {
		my $figure = $_;
		!grep { !defined $figure->{$_} || $figure->{$_} ne $what{$_} } keys %what;
	} @$figures;
}

# figures RESULTS, COLUMN => VALUE... - the figures that are so, the lowest first
sub figures {
	my ($results, %what) = @_;

	return sort { $a->{median} <=> $b->{median} }
		those_that_are($results->{figures}, %what);
}

# A number with four digits that count, so that files can be compared by eye.
sub rounded { return 0 + sprintf '%.4g', $_[0] }

my $million = 1_000_000;
my $batch = 256;

# What one thread's operation costs. Without a size, the batch is the one with the lowest
# median, as the users of a peer would choose it.
sub speed {
	my ($place, $facility, $operation, $pending, $size) = @_;

	return { place => $place, facility => $facility, operation => $operation,
		 pending => $pending, threads => 1, defined $size ? (batch => $size) : () };
}

sub ours { return speed('native', 'twheel', $_[0], $million, $batch) }
sub theirs { return speed('native', $_[0], $_[1], $million) }
sub bytes { return { unit => 'bytes', facility => $_[0], pending => $million } }

sub instructions {
	my ($operation, $pending, $size) = @_;

	return { unit => 'instructions', operation => $operation, pending => $pending,
		 batch => $size // $batch };
}

# A name, what is measured, beside what, and the limit: "1/100" or a number; the figure that is ours
# and the one that it is divided by, so less is better; or one figure alone.
my @goals = (
	[ 'arm_batch_vs_timerfd', "arm, batches of $batch", 'timerfd, its three calls', '1/60',
	  ours('arm'), theirs('timerfd', 'arm') ],
	[ 'arm_batch_vs_io_uring', "arm, batches of $batch", 'io_uring', '1/8',
	  ours('arm'), theirs('io_uring', 'arm') ],
	[ 'rearm_batch_vs_timerfd', "re-arm a random one, batches of $batch", 'timerfd_settime',
	  '1/30', ours('random'), theirs('timerfd', 'random') ],
	[ 'push_batch_vs_timerfd', "push back by write(), batches of $batch", 'timerfd_settime',
	  '1/60', speed('native', 'twheel-push', 'later', $million, $batch),
	  theirs('timerfd', 'later') ],
	[ 'rearm_single_vs_timerfd', 're-arm a random one, one ioctl', 'timerfd_settime', '1/4',
	  speed('native', 'twheel', 'random', $million, 1), theirs('timerfd', 'random') ],
	# In a guest, where both run in the same kernel.
	[ 'rearm_single_in_guest', 're-arm a random one, one ioctl, in a guest',
	  'timerfd_settime there', '1/2', speed('guest', 'twheel', 'random', $million, 1),
	  speed('guest', 'timerfd', 'random', $million) ],
	[ 'cancel_batch_vs_timerfd', "cancel, batches of $batch", 'timerfd, disarm and close',
	  '1/40', ours('cancel'), theirs('timerfd', 'cancel') ],
	[ 'cancel_vs_io_uring_100k', 'cancel, 100 k pending', 'io_uring', '1/10000',
	  speed('native', 'twheel', 'cancel', 100_000, $batch),
	  speed('native', 'io_uring', 'cancel', 100_000) ],
	[ 'deliver_vs_timerfd', 'deliver', 'timerfd, epoll_wait and read', '1/20',
	  ours('deliver'), theirs('timerfd', 'deliver') ],
	[ 'keyed_rearm_vs_handle', 're-arm by key', 're-arm by handle', 1.3,
	  speed('native', 'twheel-keyed', 'random', $million, $batch), ours('random') ],
	[ 'lease_vs_word', 'push a lease back', 'a compare-and-swap', 1.3,
	  speed('native', 'twheel-lease', 'later', $million),
	  speed('native', 'word', 'later', $million) ],
	# What fits the cache: a thousand of each.
	[ 'lease_vs_timerfd', 'push a lease back, 1 k pending', 'timerfd_settime, 1 k pending',
	  '1/100', speed('native', 'twheel-lease', 'later', 1000),
	  speed('native', 'timerfd', 'random', 1000) ],
	# In a guest, where both run in the same kernel: libtwheel takes system calls.
	[ 'object_rearm_vs_libuv', "push libtwheel's timer back, 100 k, in a guest",
	  'uv_timer_again there', 1, speed('guest', 'libtwheel', 'later', 100_000),
	  speed('guest', 'libuv', 'later', 100_000) ],
	[ 'insn_arm', 'instructions of an arm, in a batch', '', 330, instructions('arm', 1000) ],
	[ 'insn_push', 'of a push back by write(), in a batch', '', 125,
	  instructions('push', 1000) ],
	[ 'insn_cancel', 'of a cancel, in a batch', '', 180, instructions('cancel', 1000) ],
	[ 'insn_deliver', 'of a delivery, in a batch', '', 180, instructions('deliver', 1000) ],
	[ 'insn_single_rearm', 'of a re-arm to later, one ioctl', '', 1040,
	  instructions('later', 1000, 1) ],
	[ 'insn_single_push', 'of a push back, one write()', '', 850,
	  instructions('push', 1000, 1) ],
	[ 'insn_10m_vs_1k', 'of a random re-arm in a batch, 10 M pending', 'with 1 k', 1.05,
	  instructions('random', 10_000_000), instructions('random', 1000) ],
	[ 'bytes_per_timer', 'memory of a pending timer', '', 66, bytes('twheel') ],
	[ 'bytes_per_keyed_timer', 'memory of a keyed one', '', 82, bytes('twheel-keyed') ],
);

# compare RESULTS, OURS [THEIRS] - { reached, unit, ours and, if there are two, theirs }, or
# { reason } if there is nothing to compare
sub compare {
	my ($results, @sides) = @_;
	my @figures;

	for my $what (@sides) {
		my ($figure) = figures($results, %$what);
		if (!$figure) {
			my ($missing) = those_that_are($results->{missing}, %$what);
			my $side = join ' ', map { $what->{$_} // () } @columns;
			return { reason => "$side: " .
				 ($missing ? $missing->{reason} : 'not measured') };
		}
		push @figures, $figure;
	}

	my ($ours, $theirs) = map { $_->{median} } @figures;
	my %found = (unit => $figures[0]{unit}, ours => $ours);
	return { %found, reached => $ours } unless @figures == 2;
	# Below what taking off a floor can tell there is no ratio.
	return { reason => 'less than the error of taking off the floor' }
		unless $ours > 0 && $theirs > 0;
	return { %found, theirs => $theirs, reached => rounded($ours / $theirs) };
}

# goals RESULTS - each goal as compare() has it, with name, what, beside, limit, and met if it was
# measured
sub goals {
	my ($results) = @_;

	return map {
		my ($name, $what, $beside, $limit, @sides) = @$_;
		my $goal = compare($results, @sides);
		my $most = $limit =~ m{^1/(\d+)$} ? 1 / $1 : $limit;
		my $reached = $goal->{reached};

		+{ %$goal, name => $name, what => $what, beside => $beside, limit => $limit,
		   met => defined $reached ? $reached <= $most : undef };
	} @goals;
}

1;
