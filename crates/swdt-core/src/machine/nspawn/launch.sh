#!/bin/sh
# Runs one machine until it is switched off; started detached, so it outlives swdt.
#
#   launch.sh CGROUP... -- COMMAND...
#
# CGROUP: the machine's cgroup in each hierarchy, with `launcher` and `machine` below it.
# COMMAND: systemd-nspawn and its arguments.
set -eu

# Whatever swdt's caller had open, a lock of `flock` for one, would be held as long as the machine runs.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-

for word in "$@"; do
    [ "$word" = -- ] && break
    echo $$ >"$word/launcher/cgroup.procs"
done

# With --keep-unit nspawn leaves a reboot to whoever started it, and says so by 133.
code=133
while [ "$code" -eq 133 ]; do
    code=0
    (
        # 0 is the writer itself. Joined before nspawn starts, so that this is the machine's own root.
        while [ "$1" != -- ]; do
            echo 0 >"$1/machine/cgroup.procs"
            shift
        done
        shift
        exec "$@"
    ) || code=$?
done
exit "$code"
