#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# fields.pl - are these files of packaging/deploy what their readers take?
#
# usage: fields.pl FOLDER	(prints what is wrong, and exits with 1 then)
#
# A file is read as JSON or YAML, and becomes a list of its values: `.devices[].name = twheel`.
# Each has to match a line of what the specification knows, and what that requires, marked
# by !, has to be there.

use strict;
use warnings;
use CPAN::Meta::YAML;
use JSON::PP;

my $name = qr/[a-z0-9]([-a-z0-9]*[a-z0-9])?/;
my $label = qr{([-a-z0-9.]+/)?[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?};
my $amount = qr/\d+(m|[KMG]i)?/;
my @container = (
	['!', 'name', $name], ['!', 'image', qr/.+/], ['', 'args[]', qr/.+/s],
	['', 'command[]', qr/.+/], ['', "resources.(limits|requests).$label", $amount],
	['', 'securityContext.privileged', qr/true|false/],
	['', 'volumeMounts[].name', $name], ['', 'volumeMounts[].mountPath', qr{/.+}],
);
my @object = (['!', 'metadata.name', $name], ['', 'metadata.namespace', $name],
	      ['', "metadata.labels.$label", qr/.*/]);

my %known = (
	# The specification of the Container Device Interface
	'cdi.json' => [
		['!', 'cdiVersion', qr/[01]\.\d+\.\d+/],
		['!', 'kind', qr{[A-Za-z][-\w.]*[A-Za-z0-9]/[A-Za-z][-\w]*[A-Za-z0-9]}],
		['!', 'devices[].name', qr/[A-Za-z0-9][-\w.:]*/],
		['!', 'devices[].containerEdits.deviceNodes[].path', qr{/dev/twheel}],
		['', 'devices[].containerEdits.deviceNodes[].type', qr/[bcup]/],
		['', 'devices[].containerEdits.deviceNodes[].permissions', qr/r?w?m?/],
	],
	# The Compose specification
	'compose.yaml' => [
		['!', 'services.\w+.image', qr/.+/],
		['', 'services.\w+.command[]', qr/.+/],
		['!', 'services.\w+.devices[]', qr{/dev/twheel:/dev/twheel:rw}],
	],
	# The reference of Kubernetes' interface: DaemonSet (apps/v1) and Pod (v1)
	DaemonSet => [
		['!', 'apiVersion', qr{apps/v1}], ['!', 'kind', qr/DaemonSet/], @object,
		['!', "spec.selector.matchLabels.$label", qr/.*/],
		['!', "spec.template.metadata.labels.$label", qr/.*/],
		['', 'spec.template.spec.priorityClassName', $name],
		['', 'spec.template.spec.tolerations[].operator', qr/Exists|Equal/],
		['', 'spec.template.spec.tolerations[].effect', qr/No(Execute|Schedule)/],
		(map { [$_->[0], "spec.template.spec.containers[].$_->[1]", $_->[2]] } @container),
		['', 'spec.template.spec.volumes[].name', $name],
		['', 'spec.template.spec.volumes[].hostPath.path', qr{/.+}],
		['', 'spec.updateStrategy.type', qr/RollingUpdate|OnDelete/],
	],
	Pod => [
		['!', 'apiVersion', qr/v1/], ['!', 'kind', qr/Pod/], @object,
		map { [$_->[0], "spec.containers[].$_->[1]", $_->[2]] } @container,
	],
	# What the generic device plugin takes after --device
	device => [
		['!', 'name', $name], ['', 'groups[].count', qr/\d+/],
		['!', 'groups[].paths[].path', qr{/dev/twheel}],
	],
);
my $wrong = 0;

sub complain {
	print "@_\n";
	$wrong = 1;
}

# values PATH NODE - the node's values, as pairs of a path and a value
sub values_of {
	my ($path, $node) = @_;
	return map { values_of("$path.$_", $node->{$_}) } sort keys %$node if ref $node eq 'HASH';
	return map { values_of($path . '[]', $_) } @$node if ref $node eq 'ARRAY';
	return [substr($path, 1), $node // ''];
}

sub check {
	my ($what, $node) = @_;
	my @values = values_of('', $node);
	my %seen;
	for my $value (@values) {
		my ($path, $is) = @$value;
		my ($line) = grep { my $known = $_->[1] =~ s/\[\]/\\[\\]/gr; $path =~ /^$known$/ } @{$known{$what}};
		if (!$line) {
			complain("$what: nobody knows $path");
		} elsif ($is !~ /^(?:$line->[2])$/) {
			complain("$what: $path is $is");
		} else {
			$seen{$line->[1]} = $is;
		}
	}
	for my $line (grep { $_->[0] } @{$known{$what}}) {
		complain("$what: lacks $line->[1]") if !exists $seen{$line->[1]};
	}
}

sub text {
	open(my $file, '<', "$ARGV[0]/$_[0]") or die "$ARGV[0]/$_[0]: $!\n";
	local $/;
	return <$file>;
}

check('cdi.json', decode_json(text('cdi.json')));
check('compose.yaml', CPAN::Meta::YAML->read_string(text('compose.yaml'))->[0]);

my ($set, $pod, $more) = @{CPAN::Meta::YAML->read_string(text('kubernetes.yaml'))};
complain('kubernetes.yaml: not two objects') if !$pod || $more;
check('DaemonSet', $set);
check('Pod', $pod);

# What names what: labels, volumes, and the resource that the pod asks for
my $template = $set->{spec}{template};
my ($plugin) = @{$template->{spec}{containers}};
my $labels = $template->{metadata}{labels};
my $selector = $set->{spec}{selector}{matchLabels};
complain('DaemonSet: the selector does not select the template')
	if grep { ($labels->{$_} // '') ne $selector->{$_} } keys %$selector;
my %volumes = map { $_->{name} => 1 } @{$template->{spec}{volumes}};
complain("DaemonSet: no volume $_") for grep { !$volumes{$_} } map { $_->{name} } @{$plugin->{volumeMounts}};
my %args = @{$plugin->{args}};
my $device = decode_json($args{'--device'});
check('device', $device);
complain('Pod: does not ask for the resource of the plugin')
	if !$pod->{spec}{containers}[0]{resources}{limits}{"$args{'--domain'}/$device->{name}"};
exit $wrong;
