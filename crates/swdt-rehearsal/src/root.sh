
# --- Windows, as far as Wine is Windows. Everything here is listed in docs/ground.md.
mkdir -p "$root/usr/lib/swdt"

# Who programs run as, and where their drive C: is.
cat >"$root/usr/lib/swdt/windows.env" <<'ENV'
HOME=/root
USER=Administrator
LOGNAME=Administrator
PATH=/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C.UTF-8
WINEPREFIX=/srv/windows
WINEDEBUG=-all
XDG_RUNTIME_DIR=/run
LD_PRELOAD=/usr/lib/swdt/adapters.so
ENV

# One release of Windows Server, and a screen that nobody needs.
cat >"$root/usr/lib/swdt/windows.reg" <<'REG'
REGEDIT4

[HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion]
"ProductName"="Windows Server 2022 Datacenter"
"EditionID"="ServerDatacenter"
"InstallationType"="Server Core"
"CurrentBuild"="20348"
"CurrentBuildNumber"="20348"
"UBR"=dword:00000afe
"CurrentMajorVersionNumber"=dword:0000000a
"CurrentMinorVersionNumber"=dword:00000000

[HKEY_LOCAL_MACHINE\SYSTEM\HardwareConfig]
"LastConfig"="{00000000-0000-0000-0000-000000000000}"

[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters]
"BootId"=dword:00000000

[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\StandardProfile]
"EnableFirewall"=dword:00000001

[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules]
"RemoteDesktop"="v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=3389|Name=Remote Desktop|"

[HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing]

[HKEY_LOCAL_MACHINE\SOFTWARE\swdt-rehearsal\features\Containers]
"State"="Disabled"

[HKEY_CURRENT_USER\Software\Wine\DllOverrides]
"pdh"="native"
"dism.exe"="native"
"netsh.exe"="native"
"shutdown.exe"="native"

[HKEY_CURRENT_USER\Software\Wine\Drivers]
"Graphics"="null"
REG

in_windows() {
    # The preloaded library comes later, when the machine is made.
    chroot "$root" env -i $(grep -v LD_PRELOAD "$root/usr/lib/swdt/windows.env") XDG_RUNTIME_DIR=/tmp "$@"
}
in_windows wineboot -i
in_windows wine regedit /S 'Z:\usr\lib\swdt\windows.reg'
in_windows wineserver -w
rm "$root/srv/windows/dosdevices/z:"
c="$root/srv/windows/drive_c"
printf '# Copyright (c) 1993-2009 Microsoft Corp.\r\n#\r\n#\t127.0.0.1       localhost\r\n' \
    >"$c/windows/system32/drivers/etc/hosts"

# SSH as Windows has it: cmd.exe for commands, /C:/ for SFTP, an administrator's home.
ln -s /srv/windows/drive_c "$root/C:"
echo 'Administrator:x:0:0:Administrator:/root:/usr/lib/swdt/windows-shell' >>"$root/etc/passwd"
echo 'Administrator:*:20000:0:99999:7:::' >>"$root/etc/shadow"
cat >"$root/usr/lib/swdt/windows-shell" <<'SHELL'
#!/bin/sh
# The login shell of Administrator: sshd calls it with -c COMMAND.
set -a
. /usr/lib/swdt/windows.env
SWDT_COMMAND=${2-}
set +a
cd /srv/windows/drive_c/users/Administrator
if [ -e /etc/swdt/children-stay ]; then
    SWDT_CHILDREN_STAY=1 exec wine 'C:\windows\system32\sshd-session.exe'
fi
# When the connection breaks, this ends, and its job with it.
exec setpriv --pdeathsig KILL wine 'C:\windows\system32\sshd-session.exe'
SHELL
chmod 755 "$root/usr/lib/swdt/windows-shell"
# sshd gives administrators all their rights; Wine gives them to programs that ask, and to what those start.
cat >"$c/windows/system32/sshd-session.exe.manifest" <<'MANIFEST'
<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<assembly xmlns="urn:schemas-microsoft-com:asm.v1" manifestVersion="1.0">
  <trustInfo xmlns="urn:schemas-microsoft-com:asm.v3"><security><requestedPrivileges>
    <requestedExecutionLevel level="requireAdministrator" uiAccess="false"/>
  </requestedPrivileges></security></trustInfo>
</assembly>
MANIFEST
cat >"$root/usr/lib/swdt/authorized-keys" <<'KEYS'
#!/bin/sh
# Who may log in: nobody before Windows is up, and for as long after it as the machine was told to refuse.
from=$(cat /run/swdt/logins-from) && [ "$(date +%s)" -ge "$from" ] && cat /root/.ssh/authorized_keys
KEYS
cat >"$root/usr/lib/swdt/windows-up" <<'UP'
#!/bin/sh
echo $(($(date +%s) + $(cat /etc/swdt/logins-refused || echo 0))) >/run/swdt/logins-from
UP
chmod 755 "$root/usr/lib/swdt/authorized-keys" "$root/usr/lib/swdt/windows-up"
cat >"$root/etc/ssh/sshd_config.d/windows.conf" <<'SSHD'
UsePAM no
AuthorizedKeysFile none
AuthorizedKeysCommand /usr/lib/swdt/authorized-keys
AuthorizedKeysCommandUser root
Subsystem sftp internal-sftp -d /C:/users/Administrator
SSHD
sed -i '/^Subsystem/d; /^AcceptEnv/d; /^UsePAM/d' "$root/etc/ssh/sshd_config"

# Wine is up as long as the machine is, and Windows "boots" with it.
cat >"$root/usr/lib/swdt/windows-count" <<'COUNT'
#!/bin/sh
# Windows counts its starts before any service runs. Wine starts services with its first program, whichever that is,
# so no program of Wine counts: what HNS forgets at a start, a service would find first and lose later.
set -eu
registry=/srv/windows/system.reg
last=$(sed -n 's/^"BootId"=dword:\([0-9a-f]\{8\}\)$/\1/p' "$registry")
sed -i "s/^\"BootId\"=dword:$last\$/\"BootId\"=dword:$(printf %08x $((0x$last + 1)))/" "$registry"
COUNT
cat >"$root/usr/lib/swdt/windows-boot" <<'BOOT'
#!/bin/sh
# Windows does what waited for a start, and has ids of its own.
set -eu
id=$(sed 's/\(.\{8\}\)\(.\{4\}\)\(.\{4\}\)\(.\{4\}\)/\1-\2-\3-\4-/' /etc/machine-id)
wine reg add 'HKLM\SYSTEM\HardwareConfig' /v LastConfig /d "{$id}" /f
wine reg add 'HKLM\SOFTWARE\Microsoft\Cryptography' /v MachineGuid /d "$id" /f
wine reg delete 'HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending' /f || true
system32=/srv/windows/drive_c/windows/system32
for feature in Containers Microsoft-Hyper-V; do
    key="HKLM\\SOFTWARE\\swdt-rehearsal\\features\\$feature"
    brings=/usr/lib/swdt/features/$feature
    case $(wine reg query "$key" /v State 2>/dev/null) in
    *'Enable Pending'*)
        wine reg add "$key" /v State /d Enabled /f
        test ! -d "$brings" || cp "$brings"/* "$system32"
        ;;
    *'Disable Pending'*)
        wine reg add "$key" /v State /d Disabled /f
        test ! -d "$brings" || ls "$brings" | (cd "$system32" && xargs rm -f)
        ;;
    esac
done
wineboot
# Wine starts services with its first program, which may be before theirs is there.
test ! -e "$system32/hns.exe" || wine net start hns || true
BOOT
chmod 755 "$root/usr/lib/swdt/windows-count" "$root/usr/lib/swdt/windows-boot"
cat >"$root/etc/systemd/system/windows.service" <<'UNIT'
[Unit]
Description=Windows, as far as Wine is Windows
Before=ssh.service

[Service]
Type=forking
EnvironmentFile=/usr/lib/swdt/windows.env
RuntimeDirectory=swdt
ExecStartPre=/usr/lib/swdt/windows-count
# It holds some files for every thread of every program.
ExecStart=/bin/sh -c 'ulimit -n $$(ulimit -H -n) && exec /usr/bin/wineserver -p'
ExecStartPost=/usr/lib/swdt/windows-boot
ExecStartPost=/usr/lib/swdt/windows-up
ExecStop=/usr/bin/wineserver -k
TimeoutStartSec=120
# The server holds a file for each handle of every program; those of Kubernetes have thousands.
LimitNOFILE=65536

[Install]
RequiredBy=ssh.service
UNIT
# Wine finds names as Linux does, so what Windows' own file of hosts says goes there too. Looked at twice a second:
# a path unit of systemd misses what changes while its service runs.
cat >"$root/usr/lib/swdt/windows-hosts" <<'HOSTS'
#!/bin/sh
set -eu
windows=/srv/windows/drive_c/windows/system32/drivers/etc/hosts
while sleep 0.5; do
    # Between two versions there is none for a moment.
    { tr -d '\r' <"$windows" >/run/windows-hosts.now; } 2>/dev/null || continue
    cmp -s /run/windows-hosts.now /run/windows-hosts.told && continue
    { sed '/^# Windows:$/,$d' /etc/hosts; echo '# Windows:'; cat /run/windows-hosts.now; } >/etc/hosts.new
    mv /etc/hosts.new /etc/hosts
    mv /run/windows-hosts.now /run/windows-hosts.told
done
HOSTS
chmod 755 "$root/usr/lib/swdt/windows-hosts"
cat >"$root/etc/systemd/system/windows-hosts.service" <<'UNIT'
[Unit]
Description=Tells Linux the hosts that Windows knows

[Service]
ExecStart=/usr/lib/swdt/windows-hosts
Restart=always

[Install]
WantedBy=multi-user.target
UNIT
chroot "$root" systemctl enable windows-hosts.service

# What Windows asks of its machine: shutdown.exe writes it down.
cat >"$root/etc/systemd/system/windows-power.path" <<'UNIT'
[Unit]
Description=What Windows asks of its machine

[Path]
PathExists=/run/swdt/power

[Install]
WantedBy=multi-user.target
UNIT
cat >"$root/etc/systemd/system/windows-power.service" <<'UNIT'
[Unit]
Description=Does what Windows asks of its machine

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'read verb seconds </run/swdt/power && rm /run/swdt/power && sleep "$seconds" && systemctl "$verb"'
UNIT
chroot "$root" systemctl enable windows-power.path
