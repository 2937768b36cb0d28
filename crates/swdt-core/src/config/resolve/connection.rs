//! How to log in: what the node says, over what the defaults say.

use std::path::PathBuf;

use super::{Resolver, Site, v1, values};
use crate::{
    id,
    spec::{Connection, OsFamily, PasswordFrom, Via},
};

const NOTHING: Connection =
    Connection { via: Via::Ssh, user: None, key: None, host_key: None, jump: None, password_from: None };

impl Resolver<'_> {
    pub(super) fn connection(
        &mut self,
        raw: &v1::Node,
        defaults: Option<&v1::Defaults>,
        os: OsFamily,
        site: Site<'_>,
    ) -> Option<Connection> {
        let own_site = site.key("connection");
        // swdt makes a key for the machines it makes; what others use to log in elsewhere is not for them.
        if raw.machine.is_some() && raw.address.is_none() {
            if own_site.written() {
                let hint = "remove `connection`: swdt logs in with a key of its own";
                self.report(
                    id::FIELD_MISPLACED,
                    own_site,
                    "`connection` is for machines that exist already",
                    hint,
                );
            }
            return Some(NOTHING);
        }
        let before = self.problems.len();
        let own = raw.connection.as_ref().map_or(NOTHING, |own| self.login(own, own_site));
        // Problems of the defaults are told once, by `defaults`.
        let shared = defaults.and_then(|defaults| defaults.connection.as_ref());
        let shared = shared.map_or(NOTHING, |shared| self.quietly(shared));
        let via = |connection: Option<&v1::Connection>| connection.and_then(|connection| connection.via);
        let own_via = via(raw.connection.as_ref());
        let shared_via = via(defaults.and_then(|defaults| defaults.connection.as_ref()));
        let user = own.user.or(shared.user);
        if os == OsFamily::Windows && user.as_deref() == Some("root") {
            let user_site = own_site.key("user");
            let (at, whence) =
                if user_site.written() { (user_site, "") } else { (site, ", which `defaults` says") };
            let hint = "write `connection: {user: Administrator}` for this node";
            self.report(id::SYSTEM_UNSUITED, at, format!("Windows has no user `root`{whence}"), hint);
        }
        (self.problems.len() == before).then_some(Connection {
            via: own_via.or(shared_via).unwrap_or_default(),
            user,
            key: own.key.or(shared.key),
            host_key: own.host_key.or(shared.host_key),
            jump: own.jump.or(shared.jump),
            password_from: own.password_from.or(shared.password_from),
        })
    }

    /// Tells the problems of what the nodes share, even if no node needs it.
    pub(super) fn defaults(&mut self, raw: &v1::Cluster, root: Site<'_>) {
        let site = root.key("defaults");
        let Some(defaults) = &raw.defaults else { return };
        if let Some(connection) = &defaults.connection {
            let site = site.key("connection");
            self.login(connection, site);
            if connection.host_key.is_some() {
                let hint = "write it under the `connection` of its node";
                self.report(
                    id::FIELD_MISPLACED,
                    site.key("hostKey"),
                    "a host key belongs to one machine",
                    hint,
                );
            }
        }
        let memory = defaults.machine.as_ref().and_then(|machine| machine.memory.as_deref());
        self.text(memory, site.key("machine").key("memory"), values::memory);
        let disk = defaults.machine.as_ref().and_then(|machine| machine.disk.as_deref());
        self.text(disk, site.key("machine").key("disk"), values::disk);
        let image = defaults.machine.as_ref().and_then(|machine| machine.image.as_ref());
        if let Some(image) = image {
            self.shared_image(image, site.key("machine").key("image"));
        }
        self.product_key_file(
            image.and_then(|image| image.product_key_file.as_deref()),
            site.key("machine").key("image"),
        );
    }

    fn quietly(&self, raw: &v1::Connection) -> Connection {
        self.silent().login(raw, Site::nowhere())
    }

    fn login(&mut self, raw: &v1::Connection, site: Site<'_>) -> Connection {
        let from = raw.password_from.as_ref();
        let from_site = site.key("passwordFrom");
        let env_site = from_site.key("env");
        let env_text = from.and_then(|from| from.env.as_deref());
        let env = self.text(env_text, env_site, values::variable);
        if env.is_none() && env_text.is_some() {
            // Probably the password itself.
            self.secrets.push(env_site.span());
        }
        let file = from.and_then(|from| from.file.as_deref());
        let file = self.path(file, from_site.key("file"), "~/.config/swdt/win1.password");
        Connection {
            via: raw.via.unwrap_or_default(),
            user: self.text(raw.user.as_deref(), site.key("user"), values::user),
            key: raw.key.as_deref().and_then(|text| self.key_file(text, site.key("key"))),
            host_key: self.text(raw.host_key.as_deref(), site.key("hostKey"), values::host_key),
            jump: self.text(raw.jump.as_deref(), site.key("jump"), values::jump),
            password_from: env.map(PasswordFrom::Env).or(file.map(PasswordFrom::File)),
        }
    }

    fn key_file(&mut self, text: &str, site: Site<'_>) -> Option<PathBuf> {
        if text.contains("-----BEGIN") || text.starts_with("ssh-") {
            let hint = "write the path of the private key file: `key: ~/.ssh/id_ed25519`";
            self.secrets.push(site.span());
            self.report(id::SECRET_IN_FILE, site, "`key` is a file, not the key itself", hint);
            return None;
        }
        if let Some(private) = text.strip_suffix(".pub") {
            self.report(
                id::VALUE_INVALID,
                site,
                "this is the public half of a key",
                format!("the private half is `{private}`"),
            );
            return None;
        }
        self.path(Some(text), site, "~/.ssh/id_ed25519")
    }
}
