# The root is the image, which nobody can write to, but for the folders that are mounted.
root=$1 user=$2 volumes=$3
shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/run"
for volume in $volumes; do
    mkdir -p "$root${volume#*:}"
    mount --bind "${volume%:*}" "$root${volume#*:}"
done
exec chroot "$root" setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups \
    --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
