#!/usr/bin/env bash
# Run before kubelet starts: waits for the NVIDIA driver, and never longer than PATIENCE in one life
# of the machine. It always ends with 0: a node that joins without GPUs can be seen and repaired.
# Lines of comments are left out on the node: EC2 takes 16 KB of user data.
set -uo pipefail

# Only tests set this.
ROOT="${DRIVER_TEST_ROOT:-}"
# Kept, so that a kubelet that is started again, or a wait that systemd ended, begins nothing anew.
UNTIL="$ROOT/run/eks-gpushare/driver-until"
PATIENCE=300

say() { echo "$1eks-gpushare-driver: $2" | tee /dev/stderr >>"$ROOT/dev/kmsg"; }

# Seconds since the machine started: at boot, the time of day may be set at any moment.
clock() { read -r NOW _ <"$ROOT/proc/uptime" && NOW="${NOW%%.*}"; }

clock
if ! read -r until 2>/dev/null <"$UNTIL"; then
	until=$((NOW + PATIENCE))
	mkdir -p "${UNTIL%/*}" && echo "$until" >"$UNTIL"
fi
((NOW < until)) || exit 0
while :; do
	text="$(timeout -k 5 30 nvidia-smi -L 2>&1)" && [[ $text == "GPU "* ]] && exit 0
	clock
	((NOW < until)) || break
	sleep 2
done
say "<3>" "no NVIDIA driver after $PATIENCE s, kubelet starts without: ${text%%$'\n'*}"
exit 0
