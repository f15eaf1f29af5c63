#!/usr/bin/env bash
# Installs what the tests call besides Go, if it is missing: compilers for the traced programs, and independent witnesses.
set -euo pipefail

# program:Debian package
needed=(gcc:gcc g++:g++ readelf:binutils ld.lld:lld musl-gcc:musl-tools rustc:rustc gdb:gdb strace:strace xz:xz-utils zip:zip
	clang:clang llvm-dwarfdump:llvm dwz:dwz debuginfod:debuginfod groff:groff-base
	javac:openjdk-17-jdk-headless node:nodejs)

packages=()
for pair in "${needed[@]}"; do
	command -v "${pair%%:*}" >/dev/null || packages+=("${pair##*:}")
done
# gcc alone does not bring the C library's headers.
echo '#include <stdio.h>' | gcc -E - >/dev/null 2>&1 || packages+=(libc6-dev)
# The debug information of the C library, a large program to compare readers on.
[ -d /usr/lib/debug/.build-id ] || packages+=(libc6-dbg)
[ ${#packages[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	echo "missing for the tests: ${packages[*]} (tests that need them are skipped)" >&2
	[ -z "${TROCAR_REQUIRE_TOOLS:-}" ]
	exit
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install -qy --no-install-recommends "${packages[@]}" </dev/null ||
	{ apt-get update -q </dev/null && apt-get install -qy --no-install-recommends "${packages[@]}" </dev/null; }
