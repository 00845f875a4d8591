# Moves the processes of a run to their control groups, as a service manager starts them there.
# $1 is the folder with the groups bystander, offenders and probe, $2 is "leave" if something may kill
# all of a group. bystander_score, offenders_score and probe_score are their standing with the OOM killer.
slice=$1 leave=$2
agent=/sys/fs/cgroup

# The kernel of a machine that is out of memory must not kill or swap this.
echo -1000 >/proc/self/oom_score_adj
busybox mkdir $agent/manager
echo 8M >$agent/manager/memory.min
echo $$ >$agent/manager/cgroup.procs
# A wait of so many seconds that starts no process.
busybox mkfifo /run/never
exec 3<>/run/never
pause() { read -t "$1" nothing <&3; }
move() { echo "$1" >"$2/cgroup.procs"; }
# Moves a process into a group, with the standing of that group's processes.
place() {
	move "$1" $slice/$2
	[ "$3" ] && echo "$3" >/proc/$1/oom_score_adj
}

# The first process starts the observer, which starts the probe and the supervisor of the offenders, the
# only child of its that the OOM killer spares. That one's first child is the bystander. What it takes
# before it is moved stays charged to the agent, so this looks often.
# The lists of children end without a new line, so `read` always fails there.
supervisor=
until [ "$supervisor" ]; do
	pause 0.005
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
place "$bystander" bystander $bystander_score
for process in $all; do
	[ "$process" = "$supervisor" ] || place "$process" probe $probe_score
done
# Offenders are born in the group of their supervisor. It leaves when the first one is there if something
# may kill it, too: the kernel does not.
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
		' ')
			[ "$leave" ] && move "$supervisor" $agent
			place "$process" offenders $offenders_score
			moved=" $process "
			;;
		*) place "$process" offenders $offenders_score; moved="$moved$process " ;;
		esac
	done
	pause 0.05
done 2>/dev/null
