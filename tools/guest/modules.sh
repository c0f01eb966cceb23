# modules KERNEL FOLDER NAME...: copy kernel modules and what they need, with the order to load them in. Sourced.
modules() {
    local kernel=$1 folder=$2 version
    shift 2
    version=$(ls "$kernel/lib/modules")
    declare -A seen=()
    _module() {
        local name=${1//-/_} file needed
        [ -n "${seen[$name]:-}" ] && return
        seen[$name]=1
        file=$(find "$kernel/lib/modules/$version/kernel" -name '*.ko*' | awk -v wanted="$name" '
            { base = $0; sub(/.*\//, "", base); sub(/\.ko.*/, "", base); gsub(/-/, "_", base) }
            base == wanted && !found { print; found = 1 }')
        [ -n "$file" ] || return 0
        for needed in $(modinfo -F depends "$file" | tr , ' '); do _module "$needed"; done
        cp "$file" "$folder/"
        basename "$file" >> "$folder/order"
    }
    local name
    for name in "$@"; do _module "$name"; done
}
