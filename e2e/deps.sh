#!/usr/bin/env bash
# Installs what the tests call besides Go, if it is missing: compilers for the traced programs, and independent witnesses.
set -euo pipefail

# program:Debian package
needed=(gcc:gcc g++:g++ readelf:binutils ld.lld:lld musl-gcc:musl-tools gdb:gdb strace:strace xz:xz-utils zip:zip
	clang:clang llvm-dwarfdump:llvm dwz:dwz debuginfod:debuginfod groff:groff-base
	aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu javac:openjdk-17-jdk-headless node:nodejs mcs:mono-mcs
	python3.11:python3.11 python3.11-config:python3.11-dev)

# A .NET runtime for x86-64, as part of a program that was published with it, comes in a package of npm, from where
# npm is set up to get packages.
dotnet=@azure/mcp-linux-x64@0.0.21 # .NET 9.0.1
at=$(dirname "$0")/../out/dotnet
if [ "$(cat "$at/package" 2>/dev/null)" != "$dotnet" ] && [ "$(uname -m)" = x86_64 ]; then
	rm -rf "$at" && mkdir -p "$at"
	if why=$(npm pack --silent --pack-destination "$at" "$dotnet" 2>&1); then
		tar -xzf "$at"/*.tgz -C "$at" --strip-components=2 --wildcards 'package/dist/azmcp*' 'package/dist/lib*.so' \
			'package/dist/System.*' 'package/dist/mscorlib.dll' 'package/dist/netstandard.dll' 'package/dist/Microsoft.Win32.*'
		rm "$at"/*.tgz
		echo "$dotnet" >"$at/package"
	else
		echo "SKIPPED: all tests with a .NET runtime (TestDotNet…), since $dotnet cannot be fetched: $why" >&2
	fi
fi

packages=()
for pair in "${needed[@]}"; do
	command -v "${pair%%:*}" >/dev/null || packages+=("${pair##*:}")
done
# The programs in Rust want 1.66; Debian 12's package of that name has 1.63, and has newer ones for building browsers.
rust=$({ rustc --version 2>/dev/null || true; } | cut -d' ' -f2)
if [ "$(printf '%s\n' 1.66 "${rust:-0}" | sort -V | head -1)" != 1.66 ]; then
	apt-cache show rustc >/dev/null 2>&1 || { [ "$(id -u)" -eq 0 ] && apt-get update -q </dev/null; } || true
	packages+=("$(apt-cache show rustc-web >/dev/null 2>&1 && echo rustc-web || echo rustc)")
fi
# gcc alone does not bring the C library's headers.
echo '#include <stdio.h>' | gcc -E - >/dev/null 2>&1 || packages+=(libc6-dev)
# The same for arm64.
[ -e /usr/aarch64-linux-gnu/lib/crt1.o ] || packages+=(libc6-dev-arm64-cross)
# LLVM's C++ library.
echo '#include <vector>' | clang++ -stdlib=libc++ -x c++ -E - >/dev/null 2>&1 || packages+=(libc++-dev libc++abi-dev)
# kill, as a program of its own.
command -v kill >/dev/null && [ -x "$(type -P kill)" ] || packages+=(procps)
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
