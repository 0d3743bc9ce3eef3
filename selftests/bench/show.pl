#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# show.pl - show results.tsv or process.tsv as tables: the goals, and what each facility costs
#
# usage: show.pl FILE
#	 show.pl FILE PAGE...
#
# Tables for a terminal; or, in each PAGE of Markdown, what is between these two lines
# (GOALS, COSTS or DEVICE of results.tsv, PROCESS or BESIDE of process.tsv) is replaced:
#
#	<!-- bench: GOALS -->
#	<!-- bench: end -->

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Results;

my $results;

# 12345.6 as 12,300; 0.00123 stays as it is.
sub number {
	my ($value) = @_;
	my $text = $value >= 100 ? sprintf('%.0f', sprintf('%.3g', $value)) :
		0 + sprintf('%.3g', $value);

	1 while $text =~ s/^(\d+)(\d{3})/$1,$2/;
	return $text;
}

# What a figure is, in words that fit into a cell.
sub amount {
	my ($value, $unit) = @_;
	my %short = (ns => 'ns', bytes => 'bytes', instructions => '', interrupts => '');

	return '' unless defined $value;
	return number($value / 1e6) . ' ms' if $unit eq 'ns' && $value >= 1e6;
	return number($value / 1e3) . ' us' if $unit eq 'ns' && $value >= 1e4;
	return join ' ', grep { $_ ne '' } number($value), $short{$unit};
}

# A ratio as people say it: 1/52, or 1.8 times
sub fraction {
	my ($ratio) = @_;

	return '' unless defined $ratio;
	return '1/' . number(1 / $ratio) if $ratio && $ratio < 0.67;
	return number($ratio) . ' times';
}

sub wanted {
	my ($goal) = @_;

	return "at most $goal->{limit}" if $goal->{beside} eq '';
	return $goal->{limit} =~ m{^1/(.+)} ? '1/' . number($1) : "$goal->{limit} times";
}

sub rows_of_goals {
	my @rows = ([ '', 'twheel', 'beside', '', 'goal', 'reached', 'met' ]);

	for my $goal (goals($results)) {
		my ($reached, $unit) = @{$goal}{qw(reached unit)};
		my $met = defined $goal->{met} ? $goal->{met} ? 'yes' : 'no' : 'not measured';
		push @rows, [ $goal->{what}, amount($goal->{ours}, $unit), $goal->{beside},
			      amount($goal->{theirs}, $unit), wanted($goal),
			      $goal->{beside} eq '' ? amount($reached, $unit) : fraction($reached),
			      $met ];
	}
	return @rows;
}

# The facilities in the order in which they are shown, and what they are to a reader.
my @facilities = (
	[ 'twheel', 'twheel, batches of 256', 256 ],
	[ 'twheel', 'twheel, one at a time', 1 ],
	[ 'twheel-push', 'twheel, pushes by write() in batches of 256', 256 ],
	[ 'twheel-keyed', 'twheel by key, batches of 256', 256 ],
	[ 'twheel-lease', 'twheel, leases' ],
	[ 'libtwheel', 'libtwheel, timer objects' ],
	[ 'timerfd', 'timerfd and epoll' ],
	[ 'timerfd-et', 'the same, edge-triggered' ],
	[ 'posix', 'POSIX timers' ],
	[ 'io_uring', 'io_uring timeouts' ],
	[ 'hrtimer', 'hrtimer, in the kernel' ],
	[ 'timer_list', 'timer_list, in the kernel' ],
	[ 'libuv', 'libuv' ],
	[ 'libevent', 'libevent' ],
	[ 'libevent-common', 'the same, one timeout for all' ],
	[ 'heap', 'a binary heap' ],
	[ 'hashed', 'a hashed wheel' ],
	[ 'core6', "twheel's wheel in the process" ],
);
my @operations = (
	[ 'fill', 'first fill' ], [ 'arm', 'arm' ], [ 'random', 're-arm random' ],
	[ 'later', 're-arm later' ], [ 'order', 're-arm in order' ], [ 'cancel', 'cancel' ],
	[ 'expire', 'expire' ], [ 'deliver', 'deliver' ], [ 'soon', 'delay 0' ],
	[ 'heartbeat', 'heartbeat' ],
);

# table TITLE, COLUMNS, ROWS - the title and the rows of a table. A column is a name and what
# is true of its figures, and so is a row. Rows and columns without a figure are left out, and
# so are tables without rows.
sub table {
	my ($title, $columns, @rows) = @_;
	my @filled;

	for my $row (@rows) {
		my ($name, %of_row) = @$row;
		my @cells = map {
			my (undef, %of_column) = @$_;
			my ($figure) = figures($results, %of_row, %of_column);
			!$figure ? '' : $figure->{unit} ne 'ns' || $figure->{operation} ?
				number($figure->{median}) :
				amount($figure->{median}, $figure->{unit});
		} @$columns;
		push @filled, [ $name, @cells ] if grep { $_ ne '' } @cells;
	}
	my @used = grep { my $i = $_; !$i || grep { $_->[$i] ne '' } @filled } 0 .. @$columns;
	return @filled ? [ $title, map { [ @$_[@used] ] } [ '', map { $_->[0] } @$columns ],
			   @filled ] : ();
}

sub rows_of_facilities {
	return map {
		my ($facility, $name, $batch) = @$_;
		[ $name, facility => $facility, threads => 1,
		  defined $batch ? (batch => $batch) : () ];
	} @facilities;
}

sub tables_of_costs {
	my @columns = map { [ $_->[1], operation => $_->[0] ] } @operations;
	my @tables;

	for my $place ([ 'native', 'Natively' ], [ 'guest', 'In a guest' ]) {
		for my $pending (1_000, 1_000_000) {
			my %same = (place => $place->[0], pending => $pending);
			push @tables, table("$place->[1], " . number($pending) .
				' pending, ns an operation',
				[ map { [ @$_, %same ] } @columns ], rows_of_facilities());
		}
	}
	return @tables;
}

sub tables_of_batches {
	my @columns = map { [ $_, batch => $_ ] } 1, 16, 64, 256, 1024;
	my @rows;

	for my $facility (qw(twheel twheel-keyed io_uring)) {
		push @rows, map { [ "$facility: $_->[1]", facility => $facility, threads => 1,
				    operation => $_->[0] ] }
			grep { $_->[0] =~ /^(arm|random|cancel)$/ } @operations;
	}
	return map {
		my ($place, $title) = @$_;
		table("$title, 10,000 pending, ns an operation by size of the batch",
		      [ map { [ @$_, place => $place, pending => 10_000 ] } @columns ], @rows);
	} [ 'native', 'Natively' ], [ 'guest', 'In a guest' ];
}

# What nobody can do without
sub table_of_floors {
	return table('What a system call that does nothing costs, and the first touch of a page, ns',
		     [ [ 'call', operation => 'call' ], [ 'page', operation => 'page' ] ],
		     map { [ $_->[1], facility => 'floor', place => $_->[0] ] }
		     [ 'host', 'this machine' ], [ 'uml', 'user-mode Linux' ],
		     [ 'guest', 'a guest' ]);
}

sub table_of_threads {
	my %same = (pending => 100_000);
	my @columns = ((map { [ "$_ threads", %same, place => 'guest', threads => $_ ] } 1, 2, 4),
		       (map { [ "$_, one descriptor", %same, place => 'shared',
				threads => $_ ] } 2, 4));
	my @rows;

	$columns[0][0] = 'one thread';
	for my $facility (qw(twheel twheel-keyed timerfd)) {
		my @batch = $facility =~ /^twheel/ ? (batch => 256) : ();
		push @rows, map { [ "$facility: $_->[1]", facility => $facility, @batch,
				    operation => $_->[0] ] }
			grep { $_->[0] =~ /^(fill|arm|random|cancel|deliver)$/ } @operations;
	}
	return table('Threads in a guest, 100,000 pending in all, ns of a thread for an operation',
		     \@columns, @rows);
}

# The different values that a field of figures has
sub values_of {
	my ($field, %what) = @_;
	my %seen;

	return grep { !$seen{$_}++ } map { $_->{$field} // () } figures($results, %what);
}

sub tables_of_situations {
	my %part = (p50 => 'half', p99 => '99%', p999 => '99.9%', max => 'all');
	my @late = map { [ $part{$_}, lateness => $_ ] } qw(p50 p99 p999 max);
	my @rows;

	for my $situation (sort(values_of('situation', lateness => 'p50'))) {
		push @rows, map { [ "$situation: $_", situation => $situation,
				    facility => $_ ] } qw(twheel timerfd);
	}
	return (table('Lateness in a guest: so many are no later than', \@late, @rows),
		table('Interrupts for timers, in a guest', [ [ 'interrupts' ] ],
		      map { [ $_, situation => $_, unit => 'interrupts' ] }
		      sort(values_of('situation', unit => 'interrupts'))),
		table('Memory that a pending timer takes, bytes',
		      [ map { [ number($_), pending => $_ ] }
			sort { $a <=> $b } values_of('pending', unit => 'bytes') ],
		      map { [ $_, facility => $_, unit => 'bytes' ] }
		      values_of('facility', unit => 'bytes')));
}

sub table_of_instructions {
	my ($kernel) = values_of('kernel', unit => 'instructions');
	return () unless defined $kernel;
	return table("Instructions of an operation, Linux $kernel, batches of 256, by pending timers",
		     [ map { [ number($_), pending => $_, batch => 256 ] }
		       sort { $a <=> $b } values_of('pending', unit => 'instructions') ],
		     map { [ $_, operation => $_, unit => 'instructions' ] }
		     sort(values_of('operation', unit => 'instructions')));
}

# What lives in the process
my @in_process = (
	[ 'twheel, one at a time', facility => 'embedded', batch => 1 ],
	[ 'the same by a cached time', facility => 'embedded-cached', batch => 1 ],
	[ 'twheel, batches of 256', facility => 'embedded', batch => 256 ],
	[ 'twheel, pushes, one at a time', facility => 'embedded-push', batch => 1 ],
	[ 'twheel, pushes, batches of 256', facility => 'embedded-push', batch => 256 ],
	[ 'twheel by key, one at a time', facility => 'embedded-keyed', batch => 1 ],
	[ 'twheel by key, batches of 256', facility => 'embedded-keyed', batch => 256 ],
	[ 'twheel, timer objects', facility => 'embedded-timers' ],
	[ 'the same by a cached time', facility => 'embedded-cached-timers' ],
	[ 'timer objects without leases', facility => 'embedded-objects' ],
	[ 'the same, deferred', facility => 'embedded-deferred' ],
	[ 'libuv', facility => 'libuv' ],
	[ 'libevent', facility => 'libevent' ],
	[ 'a binary heap, without clock or lock', facility => 'heap' ],
	[ 'a 4-ary heap, likewise', facility => 'heap4' ],
	[ 'a hashed wheel, likewise', facility => 'hashed' ],
	[ "twheel's wheel, likewise", facility => 'core6' ],
);
# What README.md shows of that
my $beside = qr/^(embedded(-cached)?(-timers)?|libuv|libevent|heap)$/;
my $beside_operations = qr/^(fill|arm|random|later|cancel|deliver)$/;

# table_of_process PENDING [FACILITIES OPERATIONS] - all, or those that match
sub table_of_process {
	my ($pending, $facilities, $operations) = (@_, qr/./, qr/^(?!expire|heartbeat)/);
	my %same = (place => 'process', threads => 1, pending => $pending);

	return table('In the process, ' . number($pending) .
		     ' pending, ns of CPU time an operation',
		     [ map { [ $_->[1], operation => $_->[0], %same ] }
		       grep { $_->[0] =~ $operations } @operations ],
		     grep { $_->[2] =~ $facilities } @in_process);
}

# In how many cells of these tables each form of twheel takes less time than another facility
sub table_of_cells_ahead {
	my @peers = grep { $_->[2] =~ /^(libuv|libevent|heap4?)$/ } @in_process;
	my %cells;

	for my $figure (figures($results, place => 'process', threads => 1)) {
		next if $figure->{operation} =~ /^(expire|heartbeat)$/;
		my $of = $figure->{facility} . ' ' . ($figure->{batch} // 0);
		$cells{$of}{"$figure->{operation} $figure->{pending}"} = $figure->{median};
	}
	my $cells_of = sub {
		my (undef, undef, $facility, undef, $batch) = @{$_[0]};
		return $cells{$facility . ' ' . ($batch // 0)} // {};
	};
	my @rows = map {
		my $ours = $cells_of->($_);
		my @ahead = map {
			my $theirs = $cells_of->($_);
			my @both = grep { defined $theirs->{$_} } keys %$ours;
			@both ? (grep { $ours->{$_} < $theirs->{$_} } @both) . ' of ' . @both : '';
		} @peers;
		[ $_->[0], @ahead ];
	} grep { $_->[2] =~ /^embedded/ && %{$cells_of->($_)} } @in_process;
	return @rows ? [ 'In how many of these cells it takes less time than',
			 [ '', map { $_->[0] } @peers ], @rows ] : ();
}

sub table_of_process_threads {
	my %one = (facility => 'embedded');
	my %each = (facility => 'embedded-threads');
	my @rows;

	for my $batch (1, 256) {
		push @rows, map { [ ($batch > 1 ? "batches of $batch" : 'one at a time') . ": $_->[1]",
				    pending => 100_000, operation => $_->[0], batch => $batch ] }
			grep { $_->[0] =~ /^(fill|arm|random|cancel|deliver)$/ } @operations;
	}
	return table('Wheels in the process, 100,000 pending in all, ns of a thread for an operation',
		     [ [ 'one thread', %one, place => 'apart', threads => 1 ],
		       [ '2 threads, a context each', %one, place => 'apart', threads => 2 ],
		       [ '2 threads, one context', %one, place => 'together', threads => 2 ],
		       [ 'one thread, `OPEN_THREADS`', %each, place => 'apart', threads => 1 ],
		       [ '2 threads, `OPEN_THREADS`', %each, place => 'together', threads => 2 ] ],
		     @rows);
}

sub is_process {
	return ($results->{about}{form} // '') eq 'process';
}

# All tables but that of the goals
sub costs {
	return ((map { table_of_process($_) } 1_000, 10_000, 100_000, 1_000_000),
		table_of_cells_ahead(), table_of_process_threads()) if is_process();
	return (tables_of_costs(), table_of_floors(), tables_of_batches(), table_of_threads(),
		tables_of_situations(), table_of_instructions());
}

# The first column is words, and the others are next to what they are beside.
sub rows_of_markdown {
	my ($head, @rows) = @_;

	return map { '| ' . join(' | ', @$_) . " |\n" } $head,
		[ '---', ('---:') x $#$head ], @rows;
}

sub rows_of_terminal {
	my @width;

	for my $row (@_) {
		for my $i (0 .. $#$row) {
			$width[$i] = length $row->[$i] if length $row->[$i] > ($width[$i] // 0);
		}
	}
	my $line = join('  ', "%-$width[0]s", map { "%${_}s" } @width[1 .. $#width]) . "\n";
	return map { sprintf $line, @$_ } @_;
}

# How the run was made, in a line
sub origin {
	my %about = (commit => 'an unknown commit', %{$results->{about}});

	return "Measured at $about{commit}" . ($about{date} ? " on $about{date}" : '') .
		($about{machine} ? ", $about{machine}" : '') .
		($about{form} && $about{form} !~ /^(whole|process)$/ ? ", $about{form} form" : '') . ".\n";
}

sub goals_of_page {
	return (origin(), "\n", rows_of_markdown(rows_of_goals()));
}

sub costs_of_page {
	my @lines = origin();

	for my $table (costs()) {
		my ($title, @rows) = @$table;
		push @lines, "\n", "$title:\n", "\n", rows_of_markdown(@rows);
	}
	return @lines;
}

# The device, in a few rows: what a reader who decides wants to know
sub device_of_page {
	my %few = map { $_ => 1 } qw(arm_batch_vs_timerfd rearm_batch_vs_timerfd push_batch_vs_timerfd
		cancel_vs_io_uring_100k deliver_vs_timerfd lease_vs_timerfd);
	my ($head, @rows) = rows_of_goals();
	my @goals = goals($results);
	my @shown = map { [ @{$rows[$_]}[0 .. 3] ] } grep { $few{$goals[$_]{name}} } 0 .. $#rows;

	return rows_of_markdown([ @$head[0 .. 3] ], @shown);
}

sub beside_of_page {
	my (undef, @rows) = @{(table_of_process(100_000, $beside, $beside_operations))[0]};

	return ("In the process, with 100,000 timers pending, ns of CPU time an operation, of five rounds of\n",
		"`make bench-process`. ", origin(), "\n", rows_of_markdown(@rows));
}

sub replace {
	my ($page) = @_;
	my %parts = is_process() ? (PROCESS => \&costs_of_page, BESIDE => \&beside_of_page) :
		(GOALS => \&goals_of_page, COSTS => \&costs_of_page, DEVICE => \&device_of_page);
	my $replaced = 0;

	open my $in, '<', $page or die "show.pl: $page: $!\n";
	my $text = do { local $/; <$in> };
	close $in;
	for my $part (sort keys %parts) {
		my $new = join '', $parts{$part}->();
		$replaced += $text =~ s/(<!-- bench: $part -->\n).*?(<!-- bench: end -->\n)/$1$new$2/s;
	}
	die "show.pl: $page: there is no place for a table\n" unless $replaced;
	open my $out, '>', $page or die "show.pl: $page: $!\n";
	print $out $text;
	close $out or die "show.pl: $page: $!\n";
}

sub show {
	for my $table (costs()) {
		my ($title, @rows) = @$table;
		print "$title:\n\n", rows_of_terminal(@rows), "\n";
	}
	print origin() if is_process();
	return if is_process();
	my @goals = goals($results);
	my $met = grep { $_->{met} } @goals;
	my $measured = grep { defined $_->{met} } @goals;
	my @parts = map { /^missing (.*)/ ? "  $1: $results->{about}{$_}\n" : () }
		sort keys %{$results->{about}};
	push @parts, map { $_->{reason} ? "  $_->{what}: $_->{reason}\n" : () } @goals;
	print "Not measured:\n", @parts, "\n" if @parts;
	print origin(), "\n", rows_of_terminal(rows_of_goals()),
		"\n$met of ${\scalar @goals} goals met, ", @goals - $measured, " not measured\n";
}

die "usage: show.pl results.tsv [PAGE...]\n" unless @ARGV;
my ($file, @pages) = @ARGV;
$results = read_results($file);
if (@pages) {
	replace($_) for @pages;
} else {
	show();
}
