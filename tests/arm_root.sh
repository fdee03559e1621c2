#!/bin/sh
# Python for 64-bit Arm and what the tests need with it, under the folder that is given: packages of Debian and wheels
# of pip, which are unpacked and never installed. `root/usr/bin/python` runs it under qemu's emulation of programs.
#
# The arguments are this folder, and the Python whose pip is asked. apt and pip are used as they are configured. Neither
# root's rights nor the kernel's binfmt_misc are needed: the emulated Python is a script of the shell, which also starts
# the processes that it takes for its own executable.
set -eu
place=$(mkdir -p "$1" && cd "$1" && pwd)
host=$2
root=$place/root

needs() {
    command -v "$1" > /dev/null || { echo "make: $1 is missing; on Debian and Ubuntu: apt-get install $2" >&2; exit 1; }
}
needs qemu-aarch64 qemu-user
needs apt-get apt
needs dpkg-deb dpkg

arm_apt() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=false \
        -o APT::Sandbox::User="$(id -un)" -o Dir::State="$place/apt" -o Dir::State::status="$place/apt/status" \
        -o Dir::Cache="$place/apt" "$@"
}

echo "unpacking Python for 64-bit Arm into $root (once)"
mkdir -p "$place/apt/lists/partial" "$place/apt/archives/partial" "$root/usr/bin" "$root/usr/lib"
: > "$place/apt/status"
arm_apt update
arm_apt install --yes --download-only python3 libstdc++6 || {
    echo "make: apt's sources have no Python for arm64; Ubuntu keeps these packages on a server of their own (ports)," \
        "which /etc/apt must name" >&2
    exit 1
}
for folder in bin lib; do ln -sfn "usr/$folder" "$root/$folder"; done
for package in "$place"/apt/archives/*.deb; do dpkg-deb --extract "$package" "$root"; done
rm -r "$place/apt"

cat > "$root/usr/bin/python" <<'SCRIPT'
#!/bin/sh
root=$(cd "${0%/*}/../.." && pwd)
# A CPU without SVE: float32 products of OpenBLAS's code for SVE are NaN in qemu 7.2.
exec qemu-aarch64 -cpu cortex-a72 -L "$root" -0 "$root/usr/bin/python" "$root/usr/bin/python3" "$@"
SCRIPT
chmod +x "$root/usr/bin/python"
version=$("$root/usr/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

echo "unpacking what optgen and its tests need (once)"
"$host" -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]
print(*project["dependencies"], *project["optional-dependencies"]["test"], sep="\n")' > "$place/requirements.txt"
platforms=
for glibc in 17 24 26 27 28; do platforms="$platforms --platform manylinux_2_${glibc}_aarch64"; done
# shellcheck disable=SC2086 # the words are arguments
"$host" -m pip install --quiet --disable-pip-version-check --no-compile --upgrade --only-binary=:all: \
    --platform manylinux2014_aarch64 $platforms --implementation cp --python-version "$version" \
    --target "$root/usr/lib/python3/dist-packages" --requirement "$place/requirements.txt"
