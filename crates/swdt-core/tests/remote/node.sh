#!/bin/sh
# Plays the node program: says what the file `play` beside it tells. Lines of $dir/asked are the requests.
dir=$(dirname "$0")
case $1 in
put)
	cat >"$dir/put.$2"
	[ "$(sha256sum <"$dir/put.$2" | cut -d' ' -f1)" = "$2" ] || { echo "wrong bytes" >&2; exit 1; }
	exit 0
	;;
esac
read -r request
echo "$request" >>"$dir/asked"
run=$(echo "$request" | sed -n 's/.*"run":"\([^"]*\)","mode".*/\1/p')
after=$(echo "$request" | sed -n 's/.*"after":\([0-9]*\).*/\1/p')
hello() { printf '\n{"seq":0,"elapsedMs":0,"kind":{"hello":{"wire":%s,"version":"t","run":"%s"}}}\n' "${1:-1}" "$run"; }
note() { echo "{\"seq\":$1,\"elapsedMs\":$1,\"kind\":{\"note\":{\"id\":null,\"message\":\"event $1\"}}}"; }
finished() { echo "{\"seq\":$1,\"elapsedMs\":$1,\"kind\":{\"finished\":{\"writes\":0,\"reboot\":false${2:+,\"failure\":$2}}}}"; }
. "$dir/play"
