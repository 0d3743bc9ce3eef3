#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# show.pl - show results.json as tables: the goals, and what each facility costs
#
# usage: show.pl results.json
#	 show.pl results.json PAGE...
#
# Tables for a terminal; or, in each PAGE of Markdown, what is between these two lines
# (GOALS or COSTS) is replaced:
#
#	<!-- bench: GOALS -->
#	<!-- bench: end -->

use strict;
use warnings;
use JSON::PP;

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

	return "at most $goal->{goal}" if $goal->{beside} eq '';
	return $goal->{goal} =~ m{^1/(.+)} ? '1/' . number($1) : "$goal->{goal} times";
}

sub goals {
	my @rows = ([ '', 'twheel', 'beside', '', 'goal', 'reached', 'met' ]);

	for my $goal (@{$results->{goals}}) {
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
	[ 'twheel-keyed', 'twheel by key, batches of 256', 256 ],
	[ 'twheel-lease', 'twheel, leases' ],
	[ 'libtwheel', 'libtwheel, timer objects' ],
	[ 'timerfd', 'timerfd and epoll' ],
	[ 'posix', 'POSIX timers' ],
	[ 'io_uring', 'io_uring timeouts' ],
	[ 'hrtimer', 'hrtimer, in the kernel' ],
	[ 'timer_list', 'timer_list, in the kernel' ],
	[ 'libuv', 'libuv' ],
	[ 'libevent', 'libevent' ],
	[ 'heap', 'a binary heap' ],
	[ 'hashed', 'a hashed wheel' ],
	[ 'core6', "twheel's wheel in the process" ],
	[ 'core1', 'the same with one level' ],
);
my @operations = (
	[ 'arm', 'arm' ], [ 'random', 're-arm random' ], [ 'later', 're-arm later' ],
	[ 'cancel', 'cancel' ], [ 'deliver', 'deliver' ],
);

# The figures that are as %what says, the cheapest first.
sub figures {
	my %what = @_;

	return sort { $a->{median} <=> $b->{median} } grep {
		my $figure = $_;
		!grep { !defined $figure->{$_} || $figure->{$_} ne $what{$_} } keys %what;
	} @{$results->{figures}};
}

sub costs_at {
	my ($place, $pending) = @_;
	my @rows;

	for my $row (@facilities) {
		my ($facility, $name, $batch) = @$row;
		my %what = (place => $place, facility => $facility, pending => $pending,
			    threads => 1, defined $batch ? (batch => $batch) : ());
		my @cells = map {
			my ($figure) = figures(%what, operation => $_->[0]);
			$figure ? number($figure->{median}) : '';
		} @operations;
		push @rows, [ $name, @cells ] if grep { $_ ne '' } @cells;
	}
	return @rows ? ([ '', map { $_->[1] } @operations ], @rows) : ();
}

# A table of all that there is for a size.
sub costs {
	my @tables;

	for my $place ([ 'native', 'At native speed' ], [ 'guest', 'In a guest' ]) {
		for my $pending (1_000, 1_000_000) {
			my @rows = costs_at($place->[0], $pending);
			push @tables, [ "$place->[1], " . number($pending) .
					' pending, ns an operation', @rows ] if @rows;
		}
	}
	return @tables;
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
	my %about = %{$results->{about}};

	return "Measured at $about{commit}" . ($about{date} ? " on $about{date}" : '') .
		($about{machine} ? ", $about{machine}" : '') .
		($about{form} && $about{form} ne 'whole' ? ", $about{form} form" : '') . ".\n";
}

sub goals_of_page {
	return (origin(), "\n", rows_of_markdown(goals()));
}

sub costs_of_page {
	my @lines = origin();

	for my $table (costs()) {
		my ($title, @rows) = @$table;
		push @lines, "\n", "$title:\n", "\n", rows_of_markdown(@rows);
	}
	return @lines;
}

sub replace {
	my ($page) = @_;
	my %parts = (GOALS => \&goals_of_page, COSTS => \&costs_of_page);
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
	my @goals = goals();
	my $met = grep { $_->{met} } @{$results->{goals}};
	my $measured = grep { defined $_->{met} } @{$results->{goals}};
	my @reasons = map { "  $_->{name}: $_->{reason}\n" }
		grep { defined $_->{reason} } @{$results->{goals}};
	print "Not measured:\n", @reasons, "\n" if @reasons;
	print origin(), "\n", rows_of_terminal(@goals),
		"\n$met of ${\scalar @{$results->{goals}}} goals met, ",
		@{$results->{goals}} - $measured, " not measured\n";
}

die "usage: show.pl results.json [PAGE...]\n" unless @ARGV;
my ($file, @pages) = @ARGV;
open my $in, '<', $file or die "show.pl: $file: $!\n";
$results = decode_json(do { local $/; <$in> });
close $in;
if (@pages) {
	replace($_) for @pages;
} else {
	show();
}
