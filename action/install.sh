#!/usr/bin/env bash
# Installs a released pequod: install.sh VERSION DIRECTORY
#
# The archive of this machine's system and architecture is downloaded and compared
# with the checksums of the release. If cosign is installed, it verifies that the
# release workflow of the tag signed the checksums; PEQUOD_VERIFY=signature makes
# cosign a requirement. PEQUOD_RELEASES is the address of a mirror. Nothing is
# installed unless everything is right.
set -euo pipefail

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

[[ $# -eq 2 ]] || fail "usage: install.sh VERSION DIRECTORY"
version=$1
directory=$2
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail "version $version: want one such as v0.1.0"

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
MINGW* | MSYS* | CYGWIN*) os=windows ;;
*) fail "there is no release for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no release for $(uname -m)" ;;
esac
program=pequod
archive=pequod_${version#v}_${os}_${arch}.tar.gz
if [[ $os == windows ]]; then
	program=pequod.exe
	archive=${archive%.tar.gz}.zip
fi

releases=${PEQUOD_RELEASES:-https://github.com/pequod-io/pequod/releases/download}
protocol='=https'
if [[ $releases == http://127.0.0.1:* ]]; then
	protocol='=http' # a mirror on this machine
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

download() {
	curl --proto "$protocol" --fail --silent --show-error --location --retry 5 --max-time 300 \
		--output "$work/$1" "$releases/$version/$1" || fail "$releases/$version/$1 can't be downloaded"
}

sum() {
	if command -v sha256sum >/dev/null; then
		sha256sum <"$1"
	else
		shasum -a 256 <"$1"
	fi | cut -d ' ' -f 1
}

download checksums.txt
if command -v cosign >/dev/null; then
	download checksums.txt.sigstore.json
	cosign verify-blob "$work/checksums.txt" --bundle "$work/checksums.txt.sigstore.json" \
		--certificate-identity "https://github.com/pequod-io/pequod/.github/workflows/release.yaml@refs/tags/$version" \
		--certificate-oidc-issuer https://token.actions.githubusercontent.com >&2 ||
		fail "the signature of checksums.txt is wrong"
elif [[ ${PEQUOD_VERIFY:-} == signature ]]; then
	fail "cosign is not installed, and PEQUOD_VERIFY=signature requires it"
fi

want=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/checksums.txt")
[[ $want =~ ^[0-9a-f]{64}$ ]] || fail "checksums.txt has no checksum of $archive"
download "$archive"
[[ $(sum "$work/$archive") == "$want" ]] || fail "the checksum of $archive is wrong"

mkdir "$work/files"
if [[ $os == windows ]]; then
	unzip -q "$work/$archive" "$program" -d "$work/files"
else
	tar -xzf "$work/$archive" -C "$work/files" "$program"
fi
mkdir -p "$directory"
chmod 755 "$work/files/$program"
# Another job on this machine may be running the program that is replaced.
cp "$work/files/$program" "$directory/.$program.$$"
mv -f "$directory/.$program.$$" "$directory/$program"
