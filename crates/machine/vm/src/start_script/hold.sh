# Holds the agent at the last step of entering the root, until the start script has ended.
b=/start/busybox

until [ -e /proc/1/root ]; do $b usleep 1000; done
# This process stays in the first root, and the agent moves /proc into the other one: from here on,
# names begin in the folder that moves.
cd /proc || exit
# The host looks for this line on the console of a kernel that died.
fail() {
	echo "<0>thrashlab start script: $1" >1/root/dev/kmsg
	echo c >sysrq-trigger
}

# The agent writes this file last, and waits while it is a pipe without a reader.
$b mkfifo /hold && $b mount -o bind /hold sys/vm/drop_caches ||
	fail "no pipe can stop the agent until it ends"

# It waits if it sleeps twice in a row: while it unpacks, it runs or waits for the disk.
asleep=0
while [ $asleep -lt 2 ]; do
	$b usleep 10000
	read -r stat <1/stat
	case ${stat#*) } in
	S*) [ -e 1/root/etc/hostname ] && asleep=$((asleep + 1)) ;;
	*) asleep=0 ;;
	esac
done

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
$b chroot 1/root /etc/thrashlab/start </dev/null >/start/output 2>&1 ||
	fail "exit code $?: $($b tail -n 3 /start/output | $b tr '\n' ' ')"

# Lazily, as the agent still waits for it.
$b chroot 1/root busybox umount -l /proc/sys/vm/drop_caches ||
	fail "its pipe cannot be removed"
# What the agent would have done.
$b sync
echo 3 >sys/vm/drop_caches
$b rm -r /start
read -r line </hold
