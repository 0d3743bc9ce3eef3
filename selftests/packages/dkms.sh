#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dkms.sh - do make dkms-install and dkms-uninstall leave alone what is not theirs? (TAP)
#
# usage: dkms.sh [inside]
#
# Both write below /usr, so all of this runs with a layer of its own over the machine's. A stand-in
# for DKMS only keeps the list of what was added: the real one is in deb.sh.

. "$(dirname "$0")/../vm/common.sh"

# layered COMMAND... - with a /usr that may be written to, and that is forgotten
layered() {
	# shellcheck disable=SC2016 # these are the inner shell's
	as_root unshare --mount --propagation private bash -euc '
		mount -t tmpfs none /mnt
		mkdir /mnt/upper /mnt/work
		mount -t overlay overlay -o lowerdir=/usr,upperdir=/mnt/upper,workdir=/mnt/work /usr
		exec "$@"' - "$@"
}

if [ "${1-}" != inside ] && layered true 2>/dev/null; then
	layered "$0" inside
	exit
fi

. "$top/selftests/tap.sh"
[ "${1-}" = inside ] || skip_all "no layer can be put over /usr here"

tree=$tmp/tree
version=$(cat "$top/VERSION")
mkdir "$tree" "$tmp/bin"
cp -r "$top"/{Kbuild,VERSION,module,uapi,packaging,dkms.conf} "$tree"
# As of somebody whose files nobody else may read
chmod -R go= "$tree"
cat >"$tmp/bin/dkms" <<END
#!/bin/sh
case \$1 in
add)	echo "\$2, 6.1, x86_64: installed" >>"$tmp/added" ;;
remove)	sed -i "\\|^\$2,|d" "$tmp/added" ;;
status)	grep "^\$2[/,]" "$tmp/added" ;;
esac
END
printf '#!/bin/sh\n[ -e "%s" ]\n' "$tmp/packaged" >"$tmp/bin/dpkg"
cp "$tmp/bin/dpkg" "$tmp/bin/rpm"
chmod +x "$tmp"/bin/*
PATH=$tmp/bin:$PATH
rm -rf /usr/src/twheel-*
: >"$tmp/added"

# fails PATTERN COMMAND... - it does, and says so
fails() {
	local pattern=$1 said
	shift
	! said=$("$@" 2>&1) || return
	echo "$said"
	grep -qE "$pattern" <<<"$said"
}

# Whether the module is built here depends on the headers that there are.
installs() {
	(umask 077 && "$tree/packaging/dkms.sh" install) || :
	[ -e "/usr/src/twheel-$version/Kbuild" ] && grep "^twheel/$version," "$tmp/added"
}

# What others keep below such names: notes, a file, a link, a tree that is worked on, and one that its
# owner has given to DKMS
mkdir -p /usr/src/twheel-notes /usr/src/twheel-mine
echo mine | tee /usr/src/twheel-{notes,mine}/precious >/usr/src/twheel-file
ln -s twheel-mine /usr/src/twheel-link
cp -r "$tree" /usr/src/twheel-0.0.1
cp -r "$tree" /usr/src/twheel-0.0.2
sed -i 's/#MODULE_VERSION#/0.0.2/' /usr/src/twheel-0.0.2/dkms.conf
sed 's/#MODULE_VERSION#/link/' "$tree/dkms.conf" >/usr/src/twheel-mine/dkms.conf
echo "twheel/0.0.2, 6.1, x86_64: installed" >"$tmp/added"
find /usr/src/twheel-* | sort >"$tmp/before"

# strangers - what is there beside them
strangers() {
	find /usr/src/twheel-* | sort | diff "$tmp/before" - && grep '^twheel/0.0.2,' "$tmp/added"
}

try "nothing is removed where there is only what others have made" \
	fails 'there is nothing to remove' "$tree/packaging/dkms.sh" uninstall
try "make dkms-install" installs
find "/usr/src/twheel-$version" ! -perm -444 >"$tmp/out"
check "everybody can read that" test ! -s "$tmp/out"
try "another time says how to remove it" \
	fails 'already: remove it by make dkms-uninstall$' "$tree/packaging/dkms.sh" install
echo 9.9.9 >"$tree/VERSION"
try "make dkms-uninstall, of a later version" "$tree/packaging/dkms.sh" uninstall
echo "$version" >"$tree/VERSION"
try "removes that, and what others have made is all there" strangers
rm -rf "/usr/src/twheel-$version"

# From where the tarball of a release may have been unpacked
mv "$tree" "/usr/src/twheel-$version"
try "a tree in the place of its copy is not installed" \
	fails 'not from make dkms-install: move it elsewhere$' "/usr/src/twheel-$version/packaging/dkms.sh" install
try "nor uninstalled" \
	fails 'there is nothing to remove' "/usr/src/twheel-$version/packaging/dkms.sh" uninstall
check "it is there" test -e "/usr/src/twheel-$version/packaging/dkms.sh"
mv "/usr/src/twheel-$version" "$tree"

# DKMS knows a version whose folder somebody has removed.
echo "twheel/0.0.3, 6.1, x86_64: installed" >>"$tmp/added"
try "a version whose folder is gone" "$tree/packaging/dkms.sh" uninstall
try "is DKMS's no more" strangers
check "alone" test "$(wc -l <"$tmp/added")" = 1

touch "$tmp/packaged"
for action in install uninstall; do
	try "where there is the package, make dkms-$action names it" \
		fails 'remove twheel-dkms$' "$tree/packaging/dkms.sh" $action
done
finish
