# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # tmp is theirs who include it
#
# apt.sh - packages that are unpacked in the cache, rather than installed
#
# Where they come from another release of Debian, so do the package lists, and those
# are nobody's but ours: the machine's own are left as they are. Who includes this
# has a folder $tmp, on the file system where the packages are to be.

# This machine's release of Debian
codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")

# How apt is told to use other package lists than this machine's, and whose they are.
apt=() lists=

# Packages for another kind of machine have lists of their own too, beside those for this
# kind: nothing of this machine's configuration is changed.
foreign=()
[ "$arch" = amd64 ] || foreign=(-o "APT::Architecture=$arch" -o "APT::Architectures::=$arch"
	-o APT::Architectures::=amd64)

update_lists() {
	if [ ${#apt[@]} = 0 ]; then
		step "updating the package lists" "$tmp/log.lists" as_root apt-get -q update
	else
		step "fetching the package lists of $lists" "$tmp/log.lists" \
			apt-get -q "${apt[@]}" update
	fi
}

# Where this machine gets Debian from, there are the other releases too.
mirror() {
	apt-get indextargets --format "\$(SITE) \$(CODENAME)" |
		awk -v "codename=$codename" '$2 == codename { print $1; exit }'
}

# Use the package lists of another release, in a folder of their own.
use_suite() {
	local state=$tmp/apt.$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg site suite
	site=$(mirror)
	[ -n "$site" ] || die "apt's configuration names no Debian mirror"
	[ -e "$keys" ] && keys="[signed-by=$keys]" || keys=

	mkdir -p "$state"/{lists,cache/archives}/partial
	touch "$state/status"
	# Backports are an addition: the rest is in the release itself.
	for suite in "$1" "${1%-backports}"; do
		echo "deb $keys $site $suite main"
	done | sort -u >"$state/sources.list"
	apt=("${foreign[@]}" -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
	     -o "Dir::State=$state" -o "Dir::State::lists=$state/lists"
	     -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache")
	lists=$1
	update_lists
}

# Lists that are out of date name packages that are gone.
download() {
	(cd "$tmp" && apt-get -q "${apt[@]}" download "$@") || {
		update_lists
		(cd "$tmp" && apt-get -q "${apt[@]}" download "$@")
	}
}
