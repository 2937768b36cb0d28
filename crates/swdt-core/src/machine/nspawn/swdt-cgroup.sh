#!/bin/sh
# nspawn mounts cgroup v1 controllers read-only; a node must make cgroups for its pods.
set -eu
for dir in /sys/fs/cgroup/*/; do
    mount -o remount,bind,rw "$dir"
done
