#!/usr/bin/env bash
# Cuts the GPUs of this node as /etc/eks-gpushare/mig.env says, at every boot, before kubelet starts.
# Exit 0: done, or the node joins with the failure taint. 1: kubelet stays down. 75: rebooting.
# What nvidia-smi shows is read back after every step; its exit codes alone decide nothing.
# Lines of comments are left out on the node: EC2 takes 16 KB of user data.
set -uo pipefail

# Only tests set this.
ROOT="${MIG_TEST_ROOT:-}"
STATE="$ROOT/var/lib/eks-gpushare/mig"
# kubelet waits for this file: see kubelet.service.d/50-eks-gpushare.conf.
SETTLED="$ROOT/run/eks-gpushare/mig-settled"
# nodeadm merges drop-ins by name, and kubelet heeds the last --register-with-taints: be last.
DROPIN="$ROOT/etc/eks/nodeadm.d/zz-eks-gpushare-mig.yaml"
# The unit's own time limit is longer, since it would neither clean up nor let the node join.
PATIENCE=480
GPU_ROW='^([0-9]+), *(.*[^ ]) *, *([^,]*[^, ]) *, *([^,]*[^, ]) *$'
GI_ROW='^\| +[0-9]+ +MIG +([^ ]+) +([0-9]+) +([0-9]+) +([0-9]+):[0-9]+ *\|'
CI_ROW='^\| +[0-9]+ +([0-9]+) +MIG +([^ ]+) '
WANT=()
NAME=()
MODE=()
WHY=""

say() { echo "eks-gpushare-mig: $*" >&2; }

# Seconds since the machine started: at boot, the time of day may be set at any moment.
clock() { read -r NOW _ <"$ROOT/proc/uptime" && NOW="${NOW%%.*}"; }

# Whether an exit code of nvidia-smi says that the driver, its library or nvidia-smi itself is missing.
no_driver() { [[ $1 =~ ^(9|12|127)$ ]]; }

# nvidia-smi within what is left of the time; 124 and above is no answer.
smi() {
	local left most="${MIG_CALL_SECONDS:-120}"
	clock
	((left = DEADLINE - NOW, left > 0)) || return 124
	timeout -k 10 $((left < most ? left : most)) nvidia-smi "$@" 2>&1
}

# Reads names and MIG modes (current/pending) of all GPUs. A driver that is not there yet is waited
# for until the deadline; whatever else is wrong is so after some attempts too.
read_gpus() {
	local text line status attempt others=0
	for ((attempt = 1; ; attempt++)); do
		NAME=() MODE=() status=0
		text="$(smi --query-gpu=index,name,mig.mode.current,mig.mode.pending --format=csv,noheader)" || status=$?
		while IFS= read -r line; do
			[[ ${line%$'\r'} =~ $GPU_ROW ]] || continue
			NAME[BASH_REMATCH[1]]="${BASH_REMATCH[2]}"
			MODE[BASH_REMATCH[1]]="${BASH_REMATCH[3]}/${BASH_REMATCH[4]}"
		done <<<"$text"
		((status == 0 && ${#NAME[@]} == MIG_GPUS)) && return
		say "attempt $attempt: ${#NAME[@]} of $MIG_GPUS GPUs, nvidia-smi ended with $status: ${text%%$'\n'*}"
		no_driver "$status" || ((++others < 6)) || break
		clock
		((NOW + 5 < DEADLINE)) || break
		sleep 5
	done
	! no_driver "$status" || die no-driver "the NVIDIA driver has not come within $PATIENCE s"
	((status < 124)) || die timeout "nvidia-smi does not answer"
	die gpu-count "expected $MIG_GPUS GPUs, found ${#NAME[@]}"
}

# The GPU instances of GPU $1, a line of "name:start id:start instance" for each. Fails if they
# cannot be read, which is not the same as none.
instances() {
	local text line status=0 found=""
	text="$(smi mig -i "$1" -lgi)" || status=$?
	((status < 124)) || return 1
	while IFS= read -r line; do
		if [[ $line =~ $GI_ROW ]]; then
			found+="${BASH_REMATCH[1]}:${BASH_REMATCH[4]} ${BASH_REMATCH[2]}:${BASH_REMATCH[4]} ${BASH_REMATCH[3]}"$'\n'
		elif [[ $line == *" MIG "*[0-9]g.* ]]; then
			return 1
		fi
	done <<<"$text"
	# Where there is none, nvidia-smi says so and ends with 6, NVML's "not found".
	[[ $status =~ ^[06]$ || $text == *"instances found: Not Found"* || $text == *"No MIG-enabled"* ]] || return 1
	printf %s "$found"
}

# The GPU instances of GPU $1 that have a compute instance of their full size, one a line.
computes() {
	smi mig -i "$1" -lci | while IFS= read -r line; do
		[[ $line =~ $CI_ROW && ${BASH_REMATCH[2]} != [0-9]c.* ]] && echo "${BASH_REMATCH[1]}"
	done
}

# Whether GPU $1 has exactly the instances wanted, each with one compute instance.
is_cut() {
	local rows entry entries
	rows="$(instances "$1")" || return 1
	IFS=, read -ra entries <<<"${WANT[$1]}"
	(($(grep -c . <<<"$rows") == ${#entries[@]})) || return 1
	for entry in "${entries[@]}"; do
		[[ " ${rows//$'\n'/ }" == *" $entry "* ]] || return 1
	done
	[[ "$(cut -d' ' -f3 <<<"$rows" | sort)" == "$(computes "$1" | sort)" ]]
}

# Removes the instances of GPU $1; fails if any is left or they cannot be read.
clear_gpu() {
	local left
	left="$(instances "$1")" && [[ -z $left ]] && return
	smi mig -i "$1" -dci >/dev/null
	WHY="$(smi mig -i "$1" -dgi | tail -n 1)"
	left="$(instances "$1")" && [[ -z $left ]]
}

# Sets the MIG mode of GPU $1 to 1 or 0. Another nvidia-smi on the GPU is gone in a moment; what
# stays is a matter for the reboot.
set_mode() {
	local text attempt
	for attempt in 1 2 3; do
		text="$(smi -i "$1" -mig "$2")"
		say "GPU $1: -mig $2: ${text%%$'\n'*}"
		[[ $text == *"In use by another client"* ]] || return 0
		sleep 5
	done
}

# Makes the instances wanted on GPU $1.
cut_gpu() {
	local text attempt
	for attempt in 1 2; do
		clear_gpu "$1" || die in-use "GPU $1: instances cannot be removed: $WHY"
		text="$(smi mig -i "$1" -cgi "${WANT[$1]}" -C | tail -n 1)"
		is_cut "$1" && return
		say "GPU $1: attempt $attempt: -cgi ${WANT[$1]}: $text"
		sleep 5
	done
	die create "GPU $1: ${WANT[$1]} cannot be made: $text"
}

# The taints that the node would have joined with, less ours, each with a comma.
# --register-with-taints stands for the whole list, beats kubelet's config file, and refuses a taint
# that is in it twice. Of config files the later wins: kubelet merges objects, not lists.
joining_taints() {
	local folder="$ROOT/etc/kubernetes/kubelet" found file text taint taints
	found="$(grep -oE -- '--register-with-taints[= ][^ ]+' "$ROOT/etc/eks/kubelet/environment" 2>/dev/null | tail -n 1)"
	found="${found#--register-with-taints?}"
	if [[ -z $found ]]; then
		command -v jq >/dev/null || say "jq is missing: taints in kubelet's config file are not known"
		for file in "$folder/config.json" "$folder"/config.json.d/*.conf; do
			text="$(jq -er '.registerWithTaints | values | map(.key + (if (.value // "") == "" then "" else "=" + .value end) + ":" + .effect) | join(",")' "$file" 2>/dev/null)" && found="$text"
		done
	fi
	IFS=, read -ra taints <<<"${found//[\"\']/}"
	for taint in "${taints[@]}"; do
		[[ ${taint%%[=:]*} == "${MIG_TAINT%%=*}" ]] || printf '%s,' "$taint"
	done
}

# Flags of kubelet, which nodeadm appends to those of the user data.
write_flags() {
	printf '%s\n' 'apiVersion: node.eks.aws/v1alpha1' 'kind: NodeConfig' 'spec:' '  kubelet:' '    flags:' >"$DROPIN.new" &&
		printf '    - "%s"\n' "$@" >>"$DROPIN.new" && mv "$DROPIN.new" "$DROPIN"
}

# Gives up for a reason that becomes a label. No GPU is left cut in part.
die() {
	echo "<3>eks-gpushare-mig: FAILED ($1): $2" >&2
	echo "$1: $2" >"$STATE/error"
	clock
	DEADLINE=$((NOW + 120))
	for gpu in "${!NAME[@]}"; do
		clear_gpu "$gpu" || say "GPU $gpu: instances may be left: $WHY"
	done
	if [[ -e $STATE/registered ]]; then
		say "the cluster knows this node already and would not take the taint: kubelet is not started"
		exit 1
	fi
	write_flags "--register-with-taints=$(joining_taints)$MIG_TAINT" "--node-labels=$MIG_LABEL=failed,$MIG_LABEL-reason=$1" &&
		touch "$SETTLED" || exit 1
	say "the node joins with the taint $MIG_TAINT"
	exit 0
}

clock
DEADLINE=$((NOW + PATIENCE))
# shellcheck disable=SC1091
. "$ROOT/etc/eks-gpushare/mig.env" || exit 1
mkdir -p "$STATE" "${DROPIN%/*}" "${SETTLED%/*}" || exit 1
GPUS="$(seq 0 $((MIG_GPUS - 1)))"
others=""
read -ra entries <<<"$MIG_LAYOUT"
for entry in "${entries[@]}"; do
	case "$entry" in
	"*="*) others="${entry#*=}" ;;
	*) WANT[${entry%%=*}]="${entry#*=}" ;;
	esac
done
for gpu in $GPUS; do WANT[gpu]="${WANT[gpu]-$others}"; done

# Started again by hand while pods run: look, and touch nothing.
if timeout 30 systemctl is-active --quiet kubelet.service; then
	for gpu in $GPUS; do
		[[ -z ${WANT[gpu]} ]] || is_cut "$gpu" || { say "kubelet runs and GPU $gpu is not as wanted: reboot the node" && exit 1; }
	done
	say "kubelet runs and the layout is there"
	exit 0
fi

rm -f "$DROPIN" "$STATE/error" "$SETTLED"
read_gpus
for gpu in $GPUS; do
	[[ ${NAME[gpu]} == *"$MIG_PRODUCT"* ]] || die wrong-board "GPU $gpu is ${NAME[gpu]}, the layout is for $MIG_PRODUCT"
	case "${WANT[gpu]:+cut}${MODE[gpu]}" in
	cut*N/A*) die no-mig "GPU $gpu, ${NAME[gpu]}, has no MIG" ;;
	cutEnabled/Enabled | Disabled/Disabled | *N/A*) ;;
	cut*) set_mode "$gpu" 1 ;;
	*)
		[[ ${MODE[gpu]} != Enabled/* ]] || clear_gpu "$gpu" || die in-use "GPU $gpu: instances cannot be removed: $WHY"
		set_mode "$gpu" 0
		;;
	esac
done

read_gpus
pending=()
for gpu in $GPUS; do
	case "${WANT[gpu]:+cut}${MODE[gpu]}" in
	cutEnabled/Enabled | Disabled/Disabled | *N/A*) ;;
	cutDisabled/Enabled | Enabled/Disabled) pending+=("$gpu") ;;
	*) die mode-refused "GPU $gpu: MIG mode is ${MODE[gpu]}, wanted ${WANT[gpu]:-a whole GPU}" ;;
	esac
done
guard="$STATE/reboot-attempted"
if ((${#pending[@]})); then
	[[ ! -e $guard ]] || die mode-pending "MIG mode is still pending after a reboot on GPU ${pending[*]}"
	say "MIG mode is pending on GPU ${pending[*]}: rebooting once"
	{ date -u +%FT%TZ >"$guard" && sync && systemctl --no-block reboot; } || die reboot "the reboot was refused"
	exit 75
fi
rm -f "$guard"

for gpu in $GPUS; do
	[[ -n ${WANT[gpu]} ]] || continue
	is_cut "$gpu" || cut_gpu "$gpu"
	say "GPU $gpu: ${WANT[gpu]}"
done

# For others that read CDI: the device plugin makes a specification of its own.
timeout 60 systemctl restart nvidia-cdi-refresh.service || say "nvidia-cdi-refresh failed, which kubelet does not need"
write_flags "--node-labels=$MIG_LABEL=$MIG_HASH" && echo "$MIG_HASH" >"$STATE/applied" && touch "$SETTLED" || exit 1
say "layout $MIG_HASH is on all $MIG_GPUS GPUs"
