#!/usr/bin/env bash
# Builds a release from this checkout: scripts/release.sh [--with vulkan[=FILE]] [--parts FOLDER] [FOLDER]      (default: dist)
# Holds, for every platform of prebuilt/: svc-VERSION-PLATFORM.tar.gz, a .deb (Linux), the
# CycloneDX bill of materials; with `--with vulkan` also svc-VERSION-linux-x64-vulkan.tar.gz, whose executable contains that back end
# (from its npm package, or FILE); with `--parts FOLDER` that folder's libraries for NVIDIA's cards (prebuilt/build.sh cuda), which
# `svc backend install cuda` finds; then install.sh, the Homebrew formula, NOTES.md of the changelog, SHA256SUMS and its signature.
#
#   SVC_SIGNING_KEY   private key that signs, PEM; make one with
#                     openssl ecparam -name prime256v1 -genkey -noout -out release-key.pem
#   SVC_RELEASE_URL   address where the release will be found; install.sh and the formula carry it
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "release.sh: $*" >&2; exit 1; }
say() { echo "release.sh: $*"; }

with=
if [ "${1:-}" = --with ]; then
    with=${2:?--with names a back end: vulkan}
    shift 2
fi
parts=
if [ "${1:-}" = --parts ]; then
    parts=${2:?--parts names a folder with libggml-cuda-*.so}
    shift 2
    ls "$parts"/libggml-cuda-*.so >/dev/null || fail "$parts has no libggml-cuda-*.so; build them: prebuilt/build.sh cuda"
fi
out=${1:-dist}
[ -n "${SVC_SIGNING_KEY:-}" ] || fail 'SVC_SIGNING_KEY names no key; see the head of this script'
[ -r "$SVC_SIGNING_KEY" ] || fail "cannot read SVC_SIGNING_KEY, $SVC_SIGNING_KEY"
version=$(node -p 'require("./package.json").version')
notes=$(awk -v version="$version" '/^## /{found = ($2 == version); next} found' CHANGELOG.md)
[ -n "$notes" ] || fail "CHANGELOG.md has no section $version"
key=$(openssl pkey -in "$SVC_SIGNING_KEY" -pubout)
committed=$(awk '/^release_key=/ { inside = 1 } inside { print } inside && /\047$/ { exit }' install.sh | sed "s/^release_key='//; s/'\$//")
[ -z "$committed" ] || [ "$committed" = "$key" ] || fail 'SVC_SIGNING_KEY is not the key of install.sh'
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH

mkdir -p "$out"
[ -z "$(ls -A "$out")" ] || fail "$out is not empty"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# --- the archive ----------------------------------------------------------------------------------------------------

# Licence texts of the npm packages inside the executable.
npm_licenses() {
    local folder file
    node_modules/.bin/bun scripts/sbom.ts "$1" | grep -o '#node_modules/[^"]*' | cut -c2- | sort -u | while read -r folder; do
        file=$(find "$folder" -maxdepth 1 -iname 'licen[cs]e*' -type f | sort | head -1)
        [ -z "$file" ] || printf '==== %s\n\n%s\n\n' "${folder#node_modules/}" "$(cat "$file")"
    done
}

tree() { # PLATFORM [BACKEND]: what an archive holds, in $work/svc-VERSION-PLATFORM[-BACKEND]
    local folder=$work/svc-$version-$1${2:+-${2%%=*}}
    mkdir -p "$folder"/{LICENSES,completions,man,systemd,launchd}
    if [ -n "${2:-}" ]; then
        node_modules/.bin/bun src/build.ts --platform "$1" --with "$2" "$folder/svc"
    elif [ "$1" = "$own" ]; then
        install -m 755 svc "$folder/svc"
    else
        node_modules/.bin/bun src/build.ts --platform "$1" "$folder/svc"
    fi
    install -m 755 "$work/install.sh" "$folder/install.sh"
    install -m 644 LICENSE README.md CHANGELOG.md svc.toml.example packaging/svc.toml "$folder/"
    install -m 644 prebuilt/LICENSES/* "$folder/LICENSES/"
    # Where svc update finds the next release, and the key that it must be signed with.
    printf '%s\n' "$key" >"$folder/release.pem"
    [ -z "${SVC_RELEASE_URL:-}" ] || printf '%s\n' "$SVC_RELEASE_URL" >"$folder/release.url"
    npm_licenses "$1" >"$folder/LICENSES/npm-packages.txt"
    ./svc completions bash >"$folder/completions/svc.bash"
    ./svc completions zsh >"$folder/completions/_svc"
    ./svc completions fish >"$folder/completions/svc.fish"
    ./svc man >"$folder/man/svc.1"
    install -m 644 packaging/systemd/svc.service "$folder/systemd/"
    install -m 644 packaging/launchd/svc.plist "$folder/launchd/"
}

archive() { # PLATFORM[-BACKEND]
    # Owners, times and order are fixed, so that the same sources make the same bytes.
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "svc-$version-$1" |
        gzip -n -6 >"$out/svc-$version-$1.tar.gz"
}

# --- the Debian package ---------------------------------------------------------------------------------------------

debian() { # PLATFORM
    local arch root=$work/deb from=$work/svc-$version-$1
    case $1 in
        linux-x64) arch=amd64 ;;
        linux-arm64) arch=arm64 ;;
        *) return 0 ;;
    esac
    command -v dpkg-deb >/dev/null || { say 'no .deb: dpkg-deb is not installed'; return 0; }
    install -D -m 755 "$from/svc" "$root/usr/bin/svc"
    install -D -m 644 "$from/systemd/svc.service" "$root/usr/lib/systemd/system/svc.service"
    install -d "$root/etc/svc"
    sed 's|^port = .*|&\nstate = "sqlite:/var/lib/svc/state.sqlite"|' "$from/svc.toml" >"$root/etc/svc/svc.toml"
    install -D -m 644 "$from/completions/svc.bash" "$root/usr/share/bash-completion/completions/svc"
    install -D -m 644 "$from/completions/_svc" "$root/usr/share/zsh/vendor-completions/_svc"
    install -D -m 644 "$from/completions/svc.fish" "$root/usr/share/fish/vendor_completions.d/svc.fish"
    mkdir -p "$root/usr/share/man/man1" "$root/usr/share/doc/svc" "$root/DEBIAN"
    gzip -n <"$from/man/svc.1" >"$root/usr/share/man/man1/svc.1.gz"
    gzip -n <CHANGELOG.md >"$root/usr/share/doc/svc/changelog.gz"
    cp -R "$from/LICENSES" "$from/svc.toml.example" "$root/usr/share/doc/svc/"
    cp "$from/LICENSE" "$root/usr/share/doc/svc/copyright"
    echo /etc/svc/svc.toml >"$root/DEBIAN/conffiles"
    sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$(du -sk "$root" | cut -f1)/" packaging/debian/control.in >"$root/DEBIAN/control"
    install -m 755 packaging/debian/{postinst,prerm,postrm} "$root/DEBIAN/"
    dpkg-deb --root-owner-group -Zgzip -z6 --build "$root" "$out/svc_${version}_$arch.deb" >/dev/null
}

# --- the Homebrew formula -------------------------------------------------------------------------------------------

formula() {
    local blocks='' file platform system cpu
    for file in "$out"/svc-*.tar.gz; do
        platform=${file##*"$version"-}
        platform=${platform%.tar.gz}
        case $platform in *-*-*) continue ;; esac # with a back end inside
        case $platform in darwin-*) system=macos ;; *) system=linux ;; esac
        case $platform in *-arm64) cpu=arm ;; *) cpu=intel ;; esac
        blocks+="  on_$system do"$'\n'"    on_$cpu do"$'\n'"      url \"${SVC_RELEASE_URL:-file://$out}/${file##*/}\""$'\n'
        blocks+="      sha256 \"$(sha256sum "$file" | cut -d' ' -f1)\""$'\n'"    end"$'\n'"  end"$'\n'
    done
    FORMULA_ARCHIVES=$blocks awk -v version="$version" -v url="${SVC_RELEASE_URL:-file://$out}" '
        /^@ARCHIVES@$/ { printf "%s\n", ENVIRON["FORMULA_ARCHIVES"]; next }
        { gsub(/@VERSION@/, version); gsub(/@URL@/, url); print }' packaging/homebrew/svc.rb.in >"$out/svc.rb"
}

# --- all of it ------------------------------------------------------------------------------------------------------

[ "$(./svc --version)" = "svc $version" ] || fail "./svc is $(./svc --version), package.json says $version; run ./install.sh"
RELEASE_KEY=$key awk -v url="${SVC_RELEASE_URL:-}" '
    /^release_key=/ { printf "release_key=\047%s\047\n", ENVIRON["RELEASE_KEY"]; quoted = !/\047.*\047/; next }
    quoted { quoted = !/\047/; next }
    /^release_url=/ { printf "release_url=\047%s\047\n", url; next }
    { print }' install.sh >"$work/install.sh"
install -m 755 "$work/install.sh" "$out/install.sh"
printf '%s\n' "$notes" >"$out/NOTES.md"

own=$(node -p 'process.platform + "-" + process.arch')
for manifest in prebuilt/*/manifest.json; do
    platform=$(basename "$(dirname "$manifest")")
    say "svc $version for $platform"
    tree "$platform"
    archive "$platform"
    debian "$platform"
    node_modules/.bin/bun scripts/sbom.ts "$platform" >"$out/svc-$version-$platform.cdx.json"
done

if [ -n "$with" ]; then
    say "svc $version for linux-x64 with ${with%%=*}"
    tree linux-x64 "$with"
    archive "linux-x64-${with%%=*}"
fi

[ -z "$parts" ] || install -m 644 "$parts"/libggml-cuda-*.so "$out/"
formula
(cd "$out" && sha256sum -- * >SHA256SUMS && openssl dgst -sha256 -sign "$SVC_SIGNING_KEY" -out SHA256SUMS.sig SHA256SUMS)
ls -l "$out"
