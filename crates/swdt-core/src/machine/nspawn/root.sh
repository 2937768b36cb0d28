#!/bin/sh
# Makes a fresh Debian root fit to be shared by machines: root.sh ROOT (a hook of mmdebstrap).
set -eu
root=$1

# Each machine gets its own.
rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id" "$root/etc/hostname" "$root/etc/resolv.conf"
: >"$root/etc/machine-id"

chroot "$root" systemctl enable ssh.service systemd-networkd.service
chroot "$root" systemctl mask systemd-networkd-wait-online.service

# The kernel is the host's. These settings have no namespace, so a machine must not apply them.
for file in "$root"/usr/lib/sysctl.d/*.conf; do
    ln -sf /dev/null "$root/etc/sysctl.d/${file##*/}"
done

# networkd waits for udev to have seen its interface; all other devices are the host's business.
mkdir -p "$root/etc/systemd/system/systemd-udev-trigger.service.d"
cat >"$root/etc/systemd/system/systemd-udev-trigger.service.d/swdt.conf" <<'UNIT'
[Service]
ExecStart=
ExecStart=-udevadm trigger --type=devices --action=add --subsystem-match=net
UNIT
