# system.sh - installs a bare Debian or Ubuntu in a folder, with the committed files in /root/clreel, and runs commands in it.
# Sourced by .ci/run and .ci/matrix.
#
# From this machine the system uses rustup's toolchain (read-only), the downloaded crates (a copy), name servers, proxies,
# certificates, devices and the kernel. Mounts and processes have namespaces of their own, so that they end with them on failures
# and signals too. The caller's EXIT trap calls finish_systems, which removes the folders.

systems=        # the folder with all systems of this run
namespace_pid=  # the running command of run_in_namespace

# need_root_tools: checks that all tools are installed; on failure "$why" names the one that is missing.
need_root_tools() {
    local tool
    if [[ $(id -u) -ne 0 ]]; then why="debootstrap and chroot need root" && return 1; fi
    PATH=$PATH:/usr/sbin:/sbin:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin
    for tool in git cargo rustc unshare chroot tar; do
        if ! command -v "$tool" > /dev/null; then why="$tool was not found" && return 1; fi
    done
    rust=$(rustc --print sysroot) || { why="rustc does not run" && return 1; }
    if [[ $rust == /usr ]]; then why="Rust is a package of this system, and only rustup's toolchain can be mounted in another one" && return 1; fi
    if ! git rev-parse --quiet --verify HEAD > /dev/null; then why="this is not a git checkout" && return 1; fi
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

# start_systems: creates the folder for the systems.
start_systems() {
    mkdir -p "${SYSTEMS_DIR:-/var/tmp}" && systems=$(mktemp -d "${SYSTEMS_DIR:-/var/tmp}/clreel-systems.XXXXXX") || return 1
    chmod 755 "$systems"
}

finish_systems() {
    if [[ -n $namespace_pid ]]; then
        # Its children end with it, and the mounts with the last child.
        kill -KILL "$namespace_pid" 2> /dev/null || true
        wait "$namespace_pid" 2> /dev/null || true
        namespace_pid=
    fi
    [[ -n $systems ]] || return 0
    # The last processes may still be ending.
    local i
    for ((i = 0; i < 50; i++)); do
        rm -rf --one-file-system "$systems" 2> /dev/null && return 0
        sleep 0.1
    done
    echo "could not be removed, because a process uses it: $systems" >&2
}

# run_in_namespace COMMAND...: runs a command with mounts and processes of its own, and returns its exit code. In the background,
# because a shell handles no signal while a foreground command runs.
run_in_namespace() {
    local rc=0
    unshare --mount --pid --fork --kill-child --mount-proc -- "$@" < /dev/null &
    namespace_pid=$!
    wait "$namespace_pid" || rc=$?
    namespace_pid=
    return "$rc"
}

# read_row NAME: reads a row of .ci/matrix.txt: sets suite, archive, keyring and components.
read_row() {
    local name
    while read -r name suite archive keyring components; do
        [[ $name == "$1" ]] && return 0
    done < .ci/matrix.txt
    why=".ci/matrix.txt has no system '$1'"
    return 1
}

# can_make_system NAME: reads the row of a system; returns 1 and sets "$why" if this machine lacks what installs it.
can_make_system() {
    read_row "$1" || return 1
    if [[ ! -e ${DEBOOTSTRAP_DIR:-/usr/share/debootstrap}/scripts/$suite ]]; then why="this debootstrap does not know $suite" && return 1; fi
    if [[ ! -e $keyring ]]; then why="its archive's keys are missing ($keyring)" && return 1; fi
}

# make_system NAME FOLDER LOG: installs a system. On failure returns 1 or debootstrap's code, and sets "$why".
make_system() {
    local folder=$2 log=$3 rc=0 file
    can_make_system "$1" || return 1
    run_in_namespace debootstrap --variant=minbase --include=ca-certificates --keyring="$keyring" "$suite" "$folder" "$archive" \
        > "$log" 2>&1 || rc=$?
    if [[ $rc -ne 0 ]]; then why="debootstrap failed: $(tail -n 1 "$log")" && return "$rc"; fi
    why="the crates and settings of this machine could not be copied"
    {
        echo "deb $archive $suite main${components:+ $components}"
        if [[ $suite != sid ]]; then echo "deb $archive $suite-updates main${components:+ $components}"; fi
    } > "$folder/etc/apt/sources.list" || return 1
    # The lists of sid expire after a week, and a mirror may be behind.
    if [[ $suite == sid ]]; then
        echo 'Acquire::Check-Valid-Until "false";' > "$folder/etc/apt/apt.conf.d/no-expiry" || return 1
    fi
    # Copies replace links, whose targets do not exist in a bare system.
    for file in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
        if [[ -e $file ]]; then cp -L --remove-destination "$file" "$folder$file" || return 1; fi
    done
    for file in /etc/apt/apt.conf.d/*proxy*; do
        if [[ -e $file ]]; then cp -L "$file" "$folder/etc/apt/apt.conf.d/" || return 1; fi
    done
    mkdir -p "$folder/root/clreel" "$folder/opt/rust" && copy_crates "$folder/opt/cargo" || return 1
    git archive HEAD | tar -x -C "$folder/root/clreel"
}

# copy_crates FOLDER: creates a cargo home with cargo's settings and the downloaded crates of Cargo.lock. A copy, since the locks
# of one cargo are not visible to the other. Crates that are missing here are downloaded there.
copy_crates() {
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

# run_in_system FOLDER COMMAND: runs a shell command line in the system's /root/clreel, as root, without a terminal and with an
# empty environment except for proxies. Returns its exit code.
run_in_system() {
    local name variables=()
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        if [[ -n ${!name:-} ]]; then variables+=("$name=${!name}"); fi
    done
    # A background command ignores interrupts, and so would its children; the tests send some.
    run_in_namespace bash -c '
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
    ' system "$1" "$rust" ${variables[@]+"${variables[@]}"} HOME=/root LANG=C.UTF-8 TERM=dumb CI=true CARGO_TERM_COLOR=never \
        CARGO_HOME=/opt/cargo PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        bash -c "cd /root/clreel && $2"
}
