#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.pl - add up what gcov has counted, and hold it against what is explained
#
# usage: coverage.pl EXPLAINED SOURCES guest... -- host...
#
# What there is to reach is what the guests' module was compiled to. A count of the
# host's is added where that has the same line. See coverage.sh for the outcome.

use strict;
use warnings;
use JSON::PP;

my $LEAST = 95;
my ($explained, $sources, @counts) = @ARGV;

# {file}{line}: how often it ran, how often each branch was taken
my (%lines, @complaints);

sub add_line {
	my ($file, $line, $host) = @_;
	my $known = $lines{$file}{$line->{line_number}};
	my @taken = map { $_->{count} } @{$line->{branches}};

	if (!$known) {
		return if $host;
		$known = $lines{$file}{$line->{line_number}} = {
			count	 => 0,
			branches => [(0) x @taken],
		};
	}
	# Another compilation may have come to other branches: those of what ran count.
	if (@taken != @{$known->{branches}} && !$known->{count}) {
		$known->{branches} = [(0) x @taken];
	}
	if (@taken == @{$known->{branches}}) {
		$known->{branches}[$_] += $taken[$_] for 0 .. $#taken;
	}
	$known->{count} += $line->{count};
}

sub add_counts {
	my ($path, $host) = @_;
	open(my $in, '<', $path) or die "$path: $!\n";
	while (my $document = <$in>) {
		for my $file (@{decode_json($document)->{files}}) {
			$file->{file} =~ m{(?:^|/)module/\w+/(?:\./)?([\w.]+)$} or next;
			add_line($1, $_, $host) for @{$file->{lines}};
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
		die "$explained: $line\n" if ($why // '') !~ /^(never|rarely): /;
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

my $host = 0;
for my $path (@counts) {
	if ($path eq '--') {
		$host = 1;
	} else {
		add_counts($path, $host);
	}
}
die "nothing was counted\n" if !%lines;

my @entries = read_explained();
my (%total, @missed);
my $nr_explained = 0;
$total{$_} = 0 for qw(hit all never taken branches);

printf("%-12s %6s %6s %8s  %6s %6s\n", 'file', 'lines', 'of', '', 'branches', 'of');
for my $file (sort grep { %{$lines{$_}} } keys %lines) {
	my %sum = (hit => 0, all => 0, never => 0, taken => 0, branches => 0);
	my @text = read_lines(glob "$sources/*/$file");

	for my $number (sort { $a <=> $b } keys %{$lines{$file}}) {
		my $line = $lines{$file}{$number};
		my $text = $text[$number - 1] =~ s/^\s+|\s+$//gr;
		my $function = function_at(\@text, $number);
		my @reasons = grep { matches($_, $file, $function, $text) } @entries;

		$_->{lines}++ for @reasons;
		$sum{never}++ if !$line->{count} && grep { $_->{why} =~ /^never/ } @reasons;
		$sum{all}++;
		$sum{branches} += @{$line->{branches}};
		$sum{taken} += grep { $_ } @{$line->{branches}};
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
	push @complaints, "$file has less than $LEAST % of what can be reached"
		if percent($sum{hit}, $sum{all} - $sum{never}) < $LEAST;
}
print(row('total', \%total), "\n");

for my $entry (@entries) {
	push @complaints, "explained, but not there: $entry->{name}" if !$entry->{lines};
	push @complaints, "explained, but reached: $entry->{name}"
		if $entry->{lines} && !$entry->{used} && $entry->{why} =~ /^never/;
}

print("Not reached:\n\n", @missed, "\n") if @missed;
print("FAILED: $_\n") for @complaints;
printf("lines %d of %d (%.1f %%), branches %d of %d (%.1f %%), not reached %d, explained %d\n",
       $total{hit}, $total{all}, percent($total{hit}, $total{all}),
       $total{taken}, $total{branches}, percent($total{taken}, $total{branches}),
       scalar(@missed), $nr_explained);
exit(@complaints ? 1 : 0);
