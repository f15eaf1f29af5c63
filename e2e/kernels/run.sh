#!/bin/bash
# Runs the tests that load programs on other kernels, in QEMU (no KVM needed: some seconds to a minute per kernel).
#
#	e2e/kernels/run.sh [-t REGEXP] [VERSION...]
#
# Versions are those of Debian's cloud kernels, by prefix: 5.10 6.1 6.12 (all three if none is named) and 7.2. They are
# downloaded once, to $TROCAR_KERNELS (~/.cache/trocar-kernels). Needs qemu-system-x86, cpio and apt (Debian).
set -euo pipefail
cd "$(dirname "$0")/../.."
tests=.
while getopts t: opt; do
	case $opt in
	t) tests=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- 5.10 6.1 6.12
cache=${TROCAR_KERNELS:-$HOME/.cache/trocar-kernels}
mkdir -p "$cache"
for tool in qemu-system-x86_64 cpio apt-get; do
	command -v $tool >/dev/null || { echo "$tool is needed: apt-get install qemu-system-x86 cpio" >&2; exit 2; }
done

# apt with lists of its own: the machine's sources stay as they are.
apt=(-o "Dir::State::lists=$cache/lists" -o "Dir::Etc::sourcelist=$cache/sources.list" -o Dir::Etc::sourceparts=/dev/null
	-o "Dir::Cache=$cache/apt" -o APT::Sandbox::User=root -o Acquire::Languages=none)

# kernel prints the path of a kernel, downloading it if need be.
kernel() {
	local version=$1 found
	found=$(find "$cache/root/" \( -name "vmlinuz-$version.*" -o -path "*/modules/$version.*/vmlinuz" \) 2>/dev/null | sort -V | tail -1)
	if [ -z "$found" ]; then
		if [ ! -e "$cache/sources.list" ]; then
			mkdir -p "$cache/lists/partial" "$cache/apt/archives/partial"
			key=signed-by=/usr/share/keyrings/debian-archive-keyring.gpg
			# The mirror that this machine uses itself.
			mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | head -1)
			[ -n "$mirror" ] || { echo "apt has no source of Debian to take kernels from" >&2; return 1; }
			cat >"$cache/sources.list" <<-END
				deb [$key] ${mirror%/}-security bullseye-security main
				deb [$key] $mirror bookworm main
				deb [$key] $mirror trixie main
				deb [$key] $mirror sid main
			END
		fi
		apt-get "${apt[@]}" -qq update >&2
		# Newer ones come in several packages, of which linux-binary-* has the kernel, signed or not.
		local package names
		names=$(apt-cache "${apt[@]}" search --names-only "^linux-.*-${version//./\\.}\..*-cloud-amd64$" | cut -d' ' -f1 | sort -V)
		for kind in binary binary-unsigned image; do
			package=$(grep "^linux-$kind-[0-9]" <<<"$names" | tail -1) && break
		done
		[ -n "$package" ] || { echo "Debian has no cloud kernel $version" >&2; return 1; }
		(cd "$cache" && apt-get "${apt[@]}" -qq download "$package" >&2 && dpkg -x "$package"_*.deb root && rm "$package"_*.deb)
		found=$(find "$cache/root/" \( -name "vmlinuz-$version.*" -o -path "*/modules/$version.*/vmlinuz" \) | sort -V | tail -1)
	fi
	echo "$found"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root/tests" "$work/root/fixtures" "$work/root/bin"
CGO_ENABLED=0 go build -o "$work/root/init" ./e2e/kernels/init
CGO_ENABLED=0 go test -c -o "$work/root/tests/codegen" ./internal/compile/codegen
CGO_ENABLED=0 go build -o "$work/root/bin/trocar" ./cmd/trocar
CGO_ENABLED=0 go test -c -o "$work/root/tests/functions" ./e2e/kernels
cp -r internal/compile/codegen/testdata "$work/root/testdata" # init's folder is /
echo "-test.v=true -test.timeout=20m -test.run=$tests -programs=${PROGRAMS:-60}" >"$work/root/tests/codegen.args"
echo "-test.v=true -test.timeout=5m -test.run=$tests" >"$work/root/tests/functions.args"
(cd "$work/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd"

status=0
for version; do
	image=$(kernel "$version")
	echo "-- $(basename "$(dirname "$image")")/$(basename "$image")"
	# The kernel's own messages end in carriage returns.
	timeout 1500 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 1024 -smp 2 -kernel "$image" -initrd "$work/initrd" \
		-append "console=ttyS0 panic=-1 quiet" -nographic -no-reboot -nodefaults -serial stdio </dev/null |
		tr -d '\r' | tee "$work/out"
	grep -q '^== PASS$' "$work/out" || status=1
done
exit $status
