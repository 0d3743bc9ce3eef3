#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.pl - add up what gcov has counted, and hold it against what is explained
#
# usage: coverage.pl EXPLAINED SOURCES module parts
#
# What there is to reach is what the file "module" counts. What "parts" counts is added to the same
# line, and to its branches if the line was compiled to as many. See coverage.sh for the outcome.

use strict;
use warnings;
use JSON::PP;

# Branches in percent that have to be taken
my $LEAST = 95;
# These only judge, or are always on: one of their branches is never taken.
my $JUDGES = qr/\b(?:lockdep_assert_held|RCU_LOCKDEP_WARN|WARN_ON_ONCE|mutex_destroy|trace_\w+_enabled)\(/;
my ($explained, $sources, @counts) = @ARGV;

# {file}{line}: how often it ran, how often each branch was taken
my (%lines, @complaints);

sub add_line {
	my ($file, $line, $part) = @_;
	my $known = $lines{$file}{$line->{line_number}};
	my @taken = map { $_->{count} } @{$line->{branches}};

	return if !$known && $part;
	$known = $lines{$file}{$line->{line_number}} //= {
		count	 => 0,
		branches => [(0) x @taken],
	};
	$known->{count} += $line->{count};
	return if @taken != @{$known->{branches}};
	$known->{branches}[$_] += $taken[$_] for 0 .. $#taken;
}

sub add_counts {
	my ($path, $part) = @_;
	open(my $in, '<', $path) or die "$path: $!\n";
	while (my $document = <$in>) {
		for my $file (@{decode_json($document)->{files}}) {
			$file->{file} =~ m{(?:^|/)module/\w+/(?:\./)?([\w.]+)$} or next;
			add_line($1, $_, $part) for @{$file->{lines}};
		}
	}
}

sub read_lines {
	my ($path) = @_;
	open(my $in, '<', $path) or die "$path: $!\n";
	chomp(my @text = <$in>);
	return @text;
}

# File, function, text of the line (or * for all), and why it is not reached.
sub read_explained {
	my @entries;
	for my $line (read_lines($explained)) {
		next if $line =~ /^(#|$)/;
		my ($file, $function, $text, $why) = split(/\t+/, $line);
		die "$explained: $line\n" if !$why;
		push @entries, {
			name => "$file $function: $text", file => $file,
			function => $function, text => $text, why => $why,
			lines => 0, used => 0,
		};
	}
	return @entries;
}

# The function that line $number is in, by its head: gcov has none for what was inlined.
sub function_at {
	my ($text, $number) = @_;
	for my $i (reverse 0 .. $number - 1) {
		return $1 if $text->[$i] =~ /^(?=[A-Za-z])(?:[^(]*\W)?(\w+)\(/;
	}
	return '';
}

sub matches {
	my ($entry, $file, $function, $text) = @_;
	return $entry->{file} eq $file && $entry->{function} eq $function &&
	       ($entry->{text} eq '*' || $entry->{text} eq $text);
}

sub percent {
	my ($hit, $all) = @_;
	return $all ? 100 * $hit / $all : 100;
}

sub row {
	my ($name, $s) = @_;
	return sprintf("%-12s %6d %6d %6.1f %%  %6d %6d %6.1f %%\n", $name,
		       $s->{hit}, $s->{all}, percent($s->{hit}, $s->{all}),
		       $s->{taken}, $s->{branches}, percent($s->{taken}, $s->{branches}));
}

add_counts($counts[$_], $_) for 0 .. $#counts;
die "nothing was counted\n" if !%lines;

my @entries = read_explained();
my (%total, @missed);
my $nr_explained = 0;
$total{$_} = 0 for qw(hit all taken branches);

printf("%-12s %6s %6s %8s  %6s %6s\n", 'file', 'lines', 'of', '', 'branches', 'of');
for my $file (sort grep { %{$lines{$_}} } keys %lines) {
	my %sum = (hit => 0, all => 0, taken => 0, branches => 0);
	my @text = read_lines(glob "$sources/*/$file");

	for my $number (sort { $a <=> $b } keys %{$lines{$file}}) {
		my $line = $lines{$file}{$number};
		my $text = $text[$number - 1] =~ s/^\s+|\s+$//gr;
		my $function = function_at(\@text, $number);
		my @reasons = grep { matches($_, $file, $function, $text) } @entries;

		$_->{lines}++ for @reasons;
		$sum{all}++;
		if ($text !~ $JUDGES) {
			$sum{branches} += @{$line->{branches}};
			$sum{taken} += grep { $_ } @{$line->{branches}};
		}
		if ($line->{count}) {
			$sum{hit}++;
			next;
		}

		$_->{used}++ for @reasons;
		$nr_explained++ if @reasons;
		push @complaints, "$file:$number is not reached, and not explained" if !@reasons;
		push @missed, sprintf("%s:%d %s: %s\n\t%s\n", $file, $number, $function,
				      $text, @reasons ? $reasons[0]{why} : 'NOT EXPLAINED');
	}
	print(row($file, \%sum));
	$total{$_} += $sum{$_} for keys %sum;
}
print(row('total', \%total), "\n");

for my $entry (@entries) {
	push @complaints, "explained, but not there: $entry->{name}" if !$entry->{lines};
	push @complaints, "explained, but reached: $entry->{name}"
		if $entry->{lines} && !$entry->{used} && $entry->{why} !~ /^rarely: /;
}
push @complaints, "less than $LEAST % of branches were taken"
	if percent($total{taken}, $total{branches}) < $LEAST;

print("Not reached:\n\n", @missed, "\n") if @missed;
print("FAILED: $_\n") for @complaints;
printf("lines %d of %d (%.1f %%), branches %d of %d (%.1f %%), not reached %d, explained %d\n",
       $total{hit}, $total{all}, percent($total{hit}, $total{all}),
       $total{taken}, $total{branches}, percent($total{taken}, $total{branches}),
       scalar(@missed), $nr_explained);
exit(@complaints ? 1 : 0);
