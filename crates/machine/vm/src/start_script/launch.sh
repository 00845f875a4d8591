#!/start/busybox sh
# The first process of a guest with a start script. It leaves a process behind that runs the script,
# and becomes the agent. The shell needs /dev/null for a process in the background.
/start/busybox mknod -m 666 /dev/null c 1 3
/start/busybox sh /start/hold &
exec /thrashlab-agent "$@"
