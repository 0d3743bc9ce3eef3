#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# plot.pl - draw results.tsv, with gnuplot
#
# usage: plot.pl results.tsv FOLDER
#
# Leaves in the folder, of what was measured,
#
#	cost.svg	what an operation costs by the number of pending timers, natively
#	lateness.svg	how late timers come
#
# and names on stderr what was not.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Results;

# Facility, batch, name, colour, width and kind of point. Families share a hue: twheel is blue,
# what goes by descriptors is red, what lives in the kernel brown, what lives in the process
# green and grey.
my @series = (
	[ 'twheel', 256, 'twheel, batches of 256', '#0b3d91', 3, 7 ],
	[ 'twheel', 1, 'twheel, one ioctl each', '#5b8def', 2, 6 ],
	[ 'twheel-keyed', 256, 'twheel, keys', '#00a0c6', 2, 5 ],
	[ 'twheel-lease', undef, 'twheel, leases', '#7b3fb5', 3, 9 ],
	[ 'timerfd', undef, 'timerfd + epoll', '#c0182b', 3, 7 ],
	[ 'posix', undef, 'POSIX timers', '#e8743b', 2, 5 ],
	[ 'io_uring', undef, 'io_uring', '#d6479a', 2, 9 ],
	[ 'hrtimer', undef, 'hrtimer (kernel)', '#7a4b1e', 2, 11 ],
	[ 'timer_list', undef, 'timer_list (kernel)', '#c49a5a', 2, 13 ],
	[ 'libuv', undef, 'libuv', '#1f7a3d', 2, 6 ],
	[ 'libevent', undef, 'libevent', '#58b368', 2, 4 ],
	[ 'heap', undef, 'binary heap', '#8fae1b', 2, 8 ],
	[ 'hashed', undef, 'hashed wheel', '#777777', 2, 10 ],
	[ 'core6', undef, 'our wheel, in process', '#333333', 2, 12 ],
);
my @panels = (
	[ 'arm', 'arm a new one' ], [ 'random', 're-arm a random one, to any time' ],
	[ 'cancel', 'cancel' ], [ 'deliver', 'deliver what has expired' ],
);

my ($file, $folder) = @ARGV;
die "usage: plot.pl results.tsv FOLDER\n" unless @ARGV == 2 && -d $folder;
my $results = read_results($file);

# What gnuplot draws: a program for it, into a file.
sub draw {
	my ($name, $width, $height, $program) = @_;

	open my $gnuplot, '|-', 'gnuplot' or die "plot.pl: gnuplot: $!\n";
	print $gnuplot <<~END;
		set terminal svg noenhanced size $width,$height font "Helvetica,13" \\
			background "white"
		set output "$folder/$name.svg"
		set grid lc rgb "#dddddd" lt 1
		set border 3 lc rgb "#888888"
		set tics nomirror textcolor rgb "#333333"
		END
	print $gnuplot $program;
	close $gnuplot or die "plot.pl: gnuplot failed\n";
}

sub absent {
	my ($name) = @_;

	unlink "$folder/$name.svg";
	print STDERR "plot.pl: not measured, so not drawn: $name\n";
}

# Pending timers and what the best batch costs, in the order of the first, of a series
sub line_of {
	my ($operation, $facility, $batch) = @_;
	my %best;

	for my $figure (figures($results, place => 'native', facility => $facility,
				threads => 1, operation => $operation,
				defined $batch ? (batch => $batch) : ())) {
		my ($pending, $ns) = @{$figure}{qw(pending median)};
		next unless $ns > 0;
		$best{$pending} = $ns unless defined $best{$pending} && $best{$pending} < $ns;
	}
	return map { "$_ $best{$_}" } sort { $a <=> $b } keys %best;
}

sub costs {
	my ($data, %plots, %drawn, @ns) = ('');

	for my $panel (@panels) {
		for my $i (0 .. $#series) {
			my ($facility, $batch, undef, $colour, $width, $point) = @{$series[$i]};
			my @line = line_of($panel->[0], $facility, $batch) or next;
			push @ns, map { (split)[1] } @line;
			my $block = "\$$panel->[0]_$i";
			$data .= "$block << EOD\n" . join("\n", @line) . "\nEOD\n";
			push @{$plots{$panel->[0]}}, "$block with linespoints lc rgb " .
				"\"$colour\" lw $width pt $point ps 0.6 notitle";
			$drawn{$i} = 1;
		}
	}
	return absent('cost') unless %drawn;

	my ($least, $most) = (sort { $a <=> $b } @ns)[0, -1];
	my $program = $data . <<~END;
		set multiplot title "What an operation costs, natively" font ",16"
		set logscale xy
		set format x "%.0s%c"
		set xrange [700:14e6]
		set yrange [$least/2:$most*2]
		END
	my $ns = 'set ytics ("1 ns" 1, "10 ns" 10, "100 ns" 100, "1 us" 1e3, ' .
		'"10 us" 1e4, "100 us" 1e5, "1 ms" 1e6, "10 ms" 1e7)';
	for my $i (0 .. $#panels) {
		my ($operation, $what) = @{$panels[$i]};
		my ($x, $y) = (0.39 * ($i % 2), $i < 2 ? 0.48 : 0.02);
		my $plot = join ', ', @{$plots{$operation} // []};
		$program .= "$ns\nset size 0.39,0.46\nset origin $x,$y\nset title \"$what\"\n" .
			($i < 2 ? 'unset xlabel' : 'set xlabel "pending timers"') . "\n" .
			($plot ? "plot $plot\n" : '');
	}
	$program .= <<~END;
		set size 0.20,0.96
		set origin 0.80,0
		unset border; unset tics; unset grid; unset xlabel; unset title; unset logscale
		set xrange [0:1]; set yrange [0:1]
		set key at graph 1,1 Left reverse samplen 2 spacing 1.4 font ",12"
		END
	$program .= 'plot ' . join(', ', map {
		my (undef, undef, $title, $colour, $width, $point) = @{$series[$_]};
		"NaN with linespoints lc rgb \"$colour\" lw $width pt $point ps 0.6 title \"$title\"";
	} sort { $a <=> $b } keys %drawn) . "\nunset multiplot\n";
	draw('cost', 1040, 760, $program);
}

# A group of bars for each situation, from p50 to the worst: twheel beside timerfd.
sub lateness {
	my @parts = qw(p50 p99 p999 max);
	my %ns;

	for my $figure (figures($results, unit => 'ns')) {
		next unless defined $figure->{lateness};
		$ns{$figure->{situation}}{"$figure->{facility} $figure->{lateness}"} =
			$figure->{median};
	}
	return absent('lateness') unless %ns;

	my %colour;
	@colour{map { "twheel $_" } @parts} = map { "#$_" } qw(9db8e8 5b8def 2a5bc4 0b3d91);
	@colour{map { "timerfd $_" } @parts} = map { "#$_" } qw(f2a9b0 e06b78 cf3a4b 8f0f1e);
	my @bars = grep { my $bar = $_; grep { defined $_->{$bar} } values %ns }
		map { my $f = $_; map { "$f $_" } @parts } qw(twheel timerfd);
	my $data = "\$lateness << EOD\n" . join('', map {
		my $situation = $_;
		join(' ', "\"$situation\"", map { ($ns{$situation}{$_} // 'NaN') } @bars) . "\n";
	} sort keys %ns) . "EOD\n";
	my @plots = map {
		my ($facility, $part) = split ' ', $bars[$_];
		my %title = (p50 => 'half', p99 => '99%', p999 => '99.9%', max => 'all');
		"\$lateness using " . ($_ + 2) . ($_ ? '' : ':xtic(1)') .
			" title \"$facility, $title{$part}\" lc rgb \"$colour{$bars[$_]}\"";
	} 0 .. $#bars;
	draw('lateness', 1040, 460, $data . <<~END . join(', ', @plots) . "\n");
		set title "How late timers come: half, 99%, 99.9% and all of them by then" font ",16"
		set style data histogram
		set style histogram clustered gap 1
		set style fill solid noborder
		set logscale y
		set yrange [1e3:*]
		set ytics ("1 us" 1e3, "10 us" 1e4, "100 us" 1e5, "1 ms" 1e6, "10 ms" 1e7, \\
			"100 ms" 1e8, "1 s" 1e9)
		set key outside right top Left reverse samplen 1
		set grid noxtics ytics
		plot \\
		END
}

costs();
lateness();
