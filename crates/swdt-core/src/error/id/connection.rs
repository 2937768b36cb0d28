//! A machine could not be reached or would not let us in.

entries! { Connection:
    HOST_KEY_UNKNOWN = "host-key-unknown" {
        title: "the machine's host key is not known",
        cause: "A host key proves that a machine is the one you mean. Nobody has vouched for this one yet, and swdt trusts none \
                unasked.",
        fix: [
            "compare it with what the machine's console says to `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`",
            "then pass `--accept-new-host-keys`, or write it as `hostKey` in the connection of the node",
            "that of a jump host belongs into ~/.ssh/known_hosts, as a line `HOST KEY`",
        ],
    }
    HOST_KEY_CHANGED = "host-key-changed" {
        title: "the machine shows another host key than before",
        cause: "It was installed anew, the address belongs to another machine now, or somebody listens in between.",
        fix: [
            "find out which; only if it is right: `ssh-keygen -R ADDRESS`, and write the new key where the error says",
        ],
    }
    HOST_KEY_REVOKED = "host-key-revoked" {
        title: "the machine's host key is marked as revoked",
        cause: "Somebody wrote `@revoked` before it in known_hosts, because the key may be stolen.",
        fix: ["give the machine a new host key: remove /etc/ssh/ssh_host_* there, then `ssh-keygen -A`"],
    }
    KNOWN_HOSTS_FAILED = "known-hosts-failed" {
        title: "the file of known host keys cannot be read or written",
        cause: "It belongs to another user, or its disk is full.",
        fix: ["`ls -l FILE` shows whose it is; run swdt as that user", "write the key as `hostKey` in the connection of the node, which needs no file"],
    }
    LOGIN_REFUSED = "login-refused" {
        title: "the machine does not let us in",
        cause: "It answers, but takes none of the keys and passwords that were offered to this user.",
        fix: [
            Linux "ssh-copy-id -i KEY.pub USER@ADDRESS",
            "on Windows, keys of administrators are read from C:\\ProgramData\\ssh\\administrators_authorized_keys only",
            "check `user` and `key` in the connection of the node",
        ],
    }
    SSH_KEY_UNUSABLE = "ssh-key-unusable" {
        title: "the SSH key cannot be used",
        cause: "The file is not there, is no private key, is encrypted with a passphrase that nobody said, or is of a form that \
                swdt does not read.",
        fix: ["correct `key` in the connection of the node", "for an encrypted key: `ssh-add FILE`, or `passwordFrom` in the connection"],
    }
    SSH_CONFIG_FAILED = "ssh-config-failed" {
        title: "~/.ssh/config cannot be understood",
        cause: "swdt asks `ssh -G` what your configuration says of a host, and ssh refused or gave no answer.",
        fix: ["`ssh -G ADDRESS` shows the same complaint; mend the line that it names"],
    }
    HOST_NAME_UNKNOWN = "host-name-unknown" {
        title: "the name of the machine cannot be resolved",
        cause: "It is misspelt, or the name server of this host does not know it.",
        fix: ["check the spelling, or write the IP address as `address`", Linux "getent hosts NAME"],
    }
    MACHINE_UNREACHABLE = "machine-unreachable" {
        title: "nobody answers at the machine's address",
        cause: "The machine is off, its address or port is another, no SSH server runs there, or a firewall is in between.",
        fix: [
            "`ssh -v USER@ADDRESS` tells how far one gets",
            Linux "`systemctl enable --now ssh` (sshd on Fedora)",
            Windows "`Start-Service sshd; Set-Service sshd -StartupType Automatic`",
            "through another machine: `jump` in the connection of the node",
        ],
    }
    NOT_SSH = "not-ssh" {
        title: "what answers speaks no SSH that swdt takes",
        cause: "Another program listens on this port, the server is overloaded, or it offers only algorithms that are no longer safe.",
        fix: ["check `port` in the connection of the node", "bring the SSH server of the machine up to date"],
    }
    JUMP_REFUSED = "jump-refused" {
        title: "there is no way through the jump host",
        cause: "It does not reach the machine, does not allow connections onwards, or is its own jump host.",
        fix: ["its sshd_config needs `AllowTcpForwarding yes`", "`ssh -J JUMP USER@ADDRESS` tries the same"],
    }
    CONNECTION_LOST = "connection-lost" {
        title: "the connection to the machine was lost",
        cause: "It restarted, its network went away, or its SSH server hung up.",
        fix: ["run the same command again: the work there goes on, and is looked at anew"],
    }
    API_UNREACHABLE = "api-unreachable" {
        title: "this host does not reach the API server",
        cause: "swdt talks to the control plane over SSH; what runs on this host needs its address and port 6443 itself.",
        fix: ["run the command on a host in the network of the cluster", "let the firewall of the control plane take TCP 6443"],
    }
    ANSWER_LATE = "answer-late" {
        title: "a machine did not answer in time",
        cause: "It is overloaded, hangs, or its network is very slow.",
        fix: ["run the command again; `swdt doctor` tells what is wrong with the machine"],
    }
}
