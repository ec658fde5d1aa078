# system.sh - a bare system of the Debian family in a folder, and commands run in it. For .ci/run and .ci/matrix, which
# source it.
#
# Comes in: the name of a row of .ci/matrix.txt, and the checkout's commit. Goes out: the system in a folder of its own,
# with the committed files in /root/clreel, and what the commands there print and exit with. What the machine lends: its
# Rust (rustup's toolchain, read-only), what cargo has downloaded (a copy), its name servers, proxies and certificates,
# its devices, and its kernel. Mounts and processes live in namespaces of their own and vanish with them, also on failures
# and signals; finish_systems, which the caller's EXIT trap calls, removes the folders.

systems=     # the folder that all systems of this run are made in
apart_pid=   # what runs apart at the moment

# need_root_tools: after it there is all that making a system takes, or "$why" says what is missing.
need_root_tools() {
    local tool
    if [[ $(id -u) -ne 0 ]]; then why="debootstrap and chroot need root" && return 1; fi
    PATH=$PATH:/usr/sbin:/sbin:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin
    for tool in git cargo rustc unshare chroot tar; do
        if ! command -v "$tool" > /dev/null; then why="$tool was not found" && return 1; fi
    done
    rust=$(rustc --print sysroot) || { why="rustc does not run" && return 1; }
    if [[ $rust == /usr ]]; then why="Rust is the system's own here, and only rustup's can be lent" && return 1; fi
    if ! git rev-parse --quiet --verify HEAD > /dev/null; then why="this is not a checkout by git" && return 1; fi
    cargo_home=${CARGO_HOME:-${HOME:-/root}/.cargo}
    command -v debootstrap > /dev/null || install_debootstrap
}

install_debootstrap() {
    local log rc=0
    why="debootstrap was not found, and apt-get could not install it"
    command -v apt-get > /dev/null || return 1
    log=$(mktemp)
    echo "installing debootstrap" >&2
    {
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap ||
            { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap; }
    } > "$log" 2>&1 < /dev/null || rc=$?
    if [[ $rc -ne 0 ]]; then tail -n 10 "$log" >&2; fi
    rm -f "$log"
    return "$rc"
}

# start_systems: makes the folder for them.
start_systems() {
    mkdir -p "${SYSTEMS_DIR:-/var/tmp}" && systems=$(mktemp -d "${SYSTEMS_DIR:-/var/tmp}/clreel-systems.XXXXXX") || return 1
    chmod 755 "$systems"
}

finish_systems() {
    if [[ -n $apart_pid ]]; then
        # Its children go with it, and the mounts with the last of them.
        kill -KILL "$apart_pid" 2> /dev/null || true
        wait "$apart_pid" 2> /dev/null || true
        apart_pid=
    fi
    [[ -n $systems ]] || return 0
    # The last processes may still be at work for a moment.
    local i
    for ((i = 0; i < 50; i++)); do
        rm -rf --one-file-system "$systems" 2> /dev/null && return 0
        sleep 0.1
    done
    echo "left behind, because something still uses it: $systems" >&2
}

# apart COMMAND...: runs it with mounts and processes of its own; its output is this script's, its exit code too. In the
# background, because a shell heeds no signal while it waits for something in the foreground.
apart() {
    local rc=0
    unshare --mount --pid --fork --kill-child --mount-proc -- "$@" < /dev/null &
    apart_pid=$!
    wait "$apart_pid" || rc=$?
    apart_pid=
    return "$rc"
}

# read_row NAME: sets suite, archive, keyring and components.
read_row() {
    local name
    while read -r name suite archive keyring components; do
        [[ $name == "$1" ]] && return 0
    done < .ci/matrix.txt
    why=".ci/matrix.txt has no system '$1'"
    return 1
}

# make_system NAME FOLDER LOG: debootstrap, and what the machine lends. On failure 1, or debootstrap's code, and "$why".
make_system() {
    local folder=$2 log=$3 rc=0 file
    read_row "$1" || return 1
    if [[ ! -e /usr/share/debootstrap/scripts/$suite ]]; then why="this debootstrap does not know $suite" && return 1; fi
    if [[ ! -e $keyring ]]; then why="its archive's keys are missing ($keyring)" && return 1; fi
    apart debootstrap --variant=minbase --include=ca-certificates --keyring="$keyring" "$suite" "$folder" "$archive" \
        > "$log" 2>&1 || rc=$?
    if [[ $rc -ne 0 ]]; then why="debootstrap failed: $(tail -n 1 "$log")" && return "$rc"; fi
    why="what this machine lends could not be copied"
    {
        echo "deb $archive $suite main${components:+ $components}"
        echo "deb $archive $suite-updates main${components:+ $components}"
    } > "$folder/etc/apt/sources.list" || return 1
    # By contents: where a bare system has a link, its end is not there yet.
    for file in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
        if [[ -e $file ]]; then cp -L --remove-destination "$file" "$folder$file" || return 1; fi
    done
    for file in /etc/apt/apt.conf.d/*proxy*; do
        if [[ -e $file ]]; then cp -L "$file" "$folder/etc/apt/apt.conf.d/" || return 1; fi
    done
    mkdir -p "$folder/root/clreel" "$folder/opt/rust" && lend_crates "$folder/opt/cargo" || return 1
    git archive HEAD | tar -x -C "$folder/root/clreel"
}

# lend_crates FOLDER: a cargo home with cargo's settings and the crates of Cargo.lock. A copy: two cargos that know
# nothing of each other's locks must not write to one place. What cannot be fetched here is fetched there.
lend_crates() {
    local from kind name version file
    mkdir -p "$1/registry" || return 1
    cargo fetch --locked --quiet --target "$(rustc -vV | sed -n 's/^host: //p')" < /dev/null || true
    if [[ -d $cargo_home/registry/index ]]; then cp -r "$cargo_home/registry/index" "$1/registry/" || return 1; fi
    while read -r name version; do
        for from in "$cargo_home"/registry/cache/*/"$name-$version.crate"; do
            [[ -e $from ]] || continue
            kind=$1/registry/cache/$(basename "$(dirname "$from")")
            mkdir -p "$kind" && cp "$from" "$kind/" || return 1
        done
    done < <(awk -F'"' '/^name = /{ name = $2 } /^version = /{ if (name != "") print name, $2; name = "" }' Cargo.lock)
    for file in "$cargo_home"/config "$cargo_home"/config.toml; do
        if [[ -e $file ]]; then cp -L "$file" "$1/" || return 1; fi
    done
}

# run_in_system FOLDER COMMAND: runs the line in /root/clreel there, as root, with nothing of this environment but
# proxies, and without a terminal. Its exit code is the command's.
run_in_system() {
    local name lent=()
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        if [[ -n ${!name:-} ]]; then lent+=("$name=${!name}"); fi
    done
    # In the background interrupts are ignored, and what is started inherits that; the tests send some.
    apart bash -c '
        set -e
        folder=$1 rust=$2 && shift 2
        # PoCL looks for its processor in /sys.
        for name in dev sys; do mount --rbind "/$name" "$folder/$name"; done
        mount -t proc proc "$folder/proc"
        mount --bind "$rust" "$folder/opt/rust"
        mount -o remount,bind,ro "$folder/opt/rust"
        set +e
        chroot "$folder" /usr/bin/env -i --default-signal=INT,QUIT "$@"
        exit $?
    ' system "$1" "$rust" ${lent[@]+"${lent[@]}"} HOME=/root LANG=C.UTF-8 TERM=dumb CI=true CARGO_TERM_COLOR=never \
        CARGO_HOME=/opt/cargo PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        bash -c "cd /root/clreel && $2"
}
