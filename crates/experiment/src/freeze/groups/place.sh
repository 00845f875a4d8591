# Moves the processes of a run to their control groups, as a service manager starts them there.
# $1 is the folder with the groups bystander, offenders and probe.
slice=$1
agent=/sys/fs/cgroup

# The kernel of a machine that is out of memory must not kill or swap this.
echo -1000 >/proc/self/oom_score_adj
busybox mkdir $agent/manager
echo 8M >$agent/manager/memory.min
echo $$ >$agent/manager/cgroup.procs
# A wait that starts no process.
busybox mkfifo /run/never
exec 3<>/run/never
pause() { read -t 0.05 nothing <&3; }

# The bystander is born with the supervisor's group, before anything else can be moved there.
echo 1 >$slice/bystander/cgroup.procs

# The first process starts the observer, which starts the supervisor of the offenders, the only child of
# its that the OOM killer spares, and the probe.
# The lists of children end without a new line, so `read` always fails there.
supervisor=
until [ "$supervisor" ]; do
	pause
	read -r some </proc/1/task/1/children
	for observer in $some; do
		all=
		read -r all <"/proc/$observer/task/$observer/children"
		for process in $all; do
			score= bystander=
			read -r score <"/proc/$process/oom_score_adj"
			read -r bystander rest <"/proc/$process/task/$process/children"
			[ "$score" = -1000 ] && [ "$bystander" ] && supervisor=$process && break 2
		done
	done
done 2>/dev/null

move() { echo "$1" >"$2/cgroup.procs"; }
others=
while read -r process; do others="$others $process"; done <$slice/bystander/cgroup.procs
for process in $others; do
	[ "$process" = "$bystander" ] || move "$process" $agent
done
for process in $all; do
	[ "$process" = "$supervisor" ] || move "$process" $slice/probe
done
# The first offender is born in its group. Then its supervisor leaves, which nobody must kill.
move "$supervisor" $slice/offenders

moved=' '
children="/proc/$supervisor/task/$supervisor/children"
while [ -e "$children" ]; do
	first= rest=
	read -r first rest <"$children"
	[ "$first" = "$bystander" ] || rest="$first $rest"
	for process in $rest; do
		case $moved in
		*" $process "*) ;;
		' ') move "$supervisor" $agent && moved=" $process " ;;
		*) move "$process" $slice/offenders && moved="$moved$process " ;;
		esac
	done
	pause
done 2>/dev/null
