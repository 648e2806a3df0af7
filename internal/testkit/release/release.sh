#!/bin/sh
# release.sh FOLDER [SYSTEM/ARCHITECTURE...] makes what a release consists of, from a checkout: analysers
# without cgo for these systems (all that a release has, if none is named), a Debian package of the whole
# program for this machine, its SBOM, and the checksums of all. The same commit, Go and C compiler give the
# same bytes.
set -eu
out=$1; shift
test $# -gt 0 || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
test ! -e "$out" || { echo "release: $out is already there" >&2; exit 2; }
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C
umask 022
version=$(sed -n 's/^const release = "\(.*\)"/\1/p' cli/version.go)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/out" "$work/deb/DEBIAN"

for target in "$@"; do
	name=whyslow-$version-$(echo "$target" | tr / -)
	case $target in windows/*) name=$name.exe ;; esac
	echo "$name"
	CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} \
		go build -trimpath -ldflags=-s -o "$work/out/$name" ./cmd/whyslow
done

# The package: what make install installs, where Debian has it.
architecture=$(dpkg --print-architecture)
deb=whyslow_${version}_$architecture.deb
echo "$deb"
CGO_ENABLED=1 go build -trimpath -ldflags=-s -o "$work/whyslow" ./cmd/whyslow
make -s -o build install WHYSLOW="$work/whyslow" DESTDIR="$work/deb" PREFIX=/usr \
	ZSH="$work/deb/usr/share/zsh/vendor-completions" >/dev/null
doc=$work/deb/usr/share/doc/whyslow
mkdir -p "$doc"
{ cat LICENSE; "$work/whyslow" licences; } > "$doc/copyright"
cp CHANGELOG.md "$doc/changelog"
gzip -9n "$doc/changelog" "$work"/deb/usr/share/man/man1/*.1
glibc=$(objdump -T "$work/whyslow" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -1)
cat > "$work/deb/DEBIAN/control" <<END
Package: whyslow
Version: $version
Architecture: $architecture
Maintainer: The whyslow authors <whyslow@users.noreply.github.com>
Installed-Size: $(du -sk --apparent-size "$work/deb/usr" | cut -f1)
Depends: libc6 (>= $glibc)
Recommends: g++
Suggests: openmpi-bin, libomp5
Section: devel
Priority: optional
Homepage: https://github.com/whyslow/whyslow
Description: tell why a parallel program is slow, and what to change
 whyslow runs or watches LuNA, OpenMP, MPI, OpenSHMEM, UPC, C, C++ and Go
 programs. It divides their processor time among useful work, starvation,
 latency, overhead and waiting, names the code and the links to blame, and
 predicts what each change would gain.
END
find "$work/deb" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$work/deb" "$work/out/$deb" >/dev/null

echo "whyslow-$version.cdx.json"
go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin -json -noserial -notimestamp \
	-std -version "v$version" -output "$work/out/whyslow-$version.cdx.json" "$work/whyslow" 2>"$work/log" ||
	{ cat "$work/log" >&2; exit 1; }
go run ./internal/testkit/release/addpage "$work/out/whyslow-$version.cdx.json" web/dist/licenses.md
cp CHANGELOG.md "$work/out/"
(cd "$work/out" && sha256sum -- * > SHA256SUMS)
mkdir -p "$(dirname "$out")"
mv "$work/out" "$out"
