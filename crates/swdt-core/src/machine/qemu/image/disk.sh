#!/bin/sh
# Makes the parts of a disk from a fresh Debian root: disk.sh ROOT (a hook of mmdebstrap). They are left in ROOT/parts.
set -eu
root=$1
# One for all: machines never see each other's disks.
uuid=5d7e0c4e-6b1f-4c8a-9d53-2f1a77c0d1b2

# Each machine gets its own.
rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id" "$root/etc/hostname"
: >"$root/etc/machine-id"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin

chroot "$root" systemctl enable systemd-networkd.service systemd-resolved.service
chroot "$root" systemctl mask systemd-networkd-wait-online.service
echo "UUID=$uuid / ext4 errors=remount-ro 0 1" >"$root/etc/fstab"

# Python is slow on an emulated processor: only what a node needs, and only at the first start.
cat >"$root/etc/cloud/cloud.cfg.d/90-swdt.cfg" <<'CLOUD'
datasource_list: [NoCloud, None]
cloud_init_modules: [seed_random, write-files, set_hostname, update_hostname, users-groups, ssh]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-user]
runcmd: [[touch, /etc/cloud/cloud-init.disabled]]
CLOUD

# The disk may have grown before any start. growpart fails where there is nothing to do.
cat >"$root/etc/systemd/system/grow-root.service" <<'UNIT'
[Unit]
Description=Grow the root to its disk
Before=ssh.service

[Service]
Type=oneshot
ExecStart=-growpart /dev/vda 2
ExecStart=resize2fs /dev/vda2

[Install]
WantedBy=multi-user.target
UNIT
chroot "$root" systemctl enable grow-root.service

mkdir -p "$root/boot/grub" "$root/parts"
# /vmlinuz and /initrd.img are links that every new kernel moves on.
cat >"$root/boot/grub/grub.cfg" <<GRUB
if serial --unit=0 --speed=115200; then
  terminal_input serial console
  terminal_output serial console
fi
linux /vmlinuz root=UUID=$uuid ro console=tty0 console=ttyS0,115200n8
initrd /initrd.img
boot
GRUB
cat >"$root/parts/early.cfg" <<GRUB
search --no-floppy --fs-uuid --set=root $uuid
set prefix=(\$root)/boot/grub
configfile \$prefix/grub.cfg
GRUB
modules="part_msdos ext2 search search_fs_uuid configfile normal linux boot echo serial terminal test"
# shellcheck disable=SC2086 # a list of words
chroot "$root" grub-mkimage -O i386-pc -p /boot/grub -c /parts/early.cfg -o /parts/core.img biosdisk $modules
cp "$root/usr/lib/grub/i386-pc/boot.img" "$root/parts/boot.img"
chroot "$root" mformat -C -i /parts/esp.img -T 32768 -v EFI ::
# Signed by Microsoft and by Debian, so that it starts with Secure Boot, too. This GRUB looks for its file where Debian
# would have installed it.
chroot "$root" mmd -i /parts/esp.img ::/EFI ::/EFI/BOOT ::/EFI/debian
chroot "$root" mcopy -i /parts/esp.img /usr/lib/shim/shimx64.efi.signed ::/EFI/BOOT/BOOTX64.EFI
chroot "$root" mcopy -i /parts/esp.img /usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed ::/EFI/BOOT/grubx64.efi
chroot "$root" mcopy -i /parts/esp.img /parts/early.cfg ::/EFI/debian/grub.cfg

# A view of the root without what is mounted in it.
mkdir "$root.parts" "$root.view"
mv "$root"/parts/* "$root.parts/"
rmdir "$root/parts"
mount --bind "$root" "$root.view"
size=$(du -sm "$root.view" | cut -f1)
mke2fs -q -t ext4 -U "$uuid" -L root -d "$root.view" "$root.parts/root.img" "$((size * 5 / 4 + 200))M"
umount "$root.view"
rmdir "$root.view"
mv "$root.parts" "$root/parts"
