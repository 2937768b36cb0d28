//! [`ClientConfig`]: a kubeconfig with a token of a service account.
//!
//! The file tells by itself how long its token lives, so a look needs no cluster, and a new token is only asked for
//! when the old one comes near its end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use swdt_wire::{ClientConfig, Prior, Status};

use super::{Behaviour, Reverted, foreign, path};
use crate::{Ctx, Error, Result, faults, os};

/// For administrators alone.
const MODE: u32 = 0o600;

impl Behaviour for ClientConfig {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        path::absolute(&self.path)?;
        let differs = |what: &str| Ok(Status::Differs(what.to_owned()));
        let Some(meta) = path::look(ctx, &self.path)? else { return differs("missing") };
        if !meta.is_file() || meta.mode() != os::mode(MODE, false) {
            return differs("others may read it, or it is no plain file");
        }
        let bytes = ctx.read(&self.path)?.unwrap_or_default();
        let there: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let Some(token) = there["users"][0]["user"]["token"].as_str() else { return differs("no token") };
        if there != text(self, token) {
            return differs("other contents");
        }
        let needed = Duration::from_secs(u64::from(self.renew_days) * 24 * 3600);
        match expiry(token) {
            None => differs("its token cannot be read"),
            Some(expiry) if faults::clock() + needed > expiry => differs("its token comes to its end"),
            Some(_) => Ok(Status::Satisfied),
        }
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        path::no_dir_in_the_way(ctx, &self.path)?;
        Ok(Prior::File(path::capture(ctx, &self.path)?))
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let Some(token) = &self.token else {
            return Err(Error::new("a token is needed, and the request holds none")
                .hinted("this is a mistake in swdt: report it"));
        };
        if expiry(token.expose()).is_none() {
            return Err(Error::new("what the cluster gave is no token of a service account"));
        }
        path::make_parents(ctx, &self.path)?;
        let bytes = text(self, token.expose()).to_string();
        ctx.write(&self.path, bytes.as_bytes(), MODE, Some(ctx.owner()))
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::File(prior) = prior else { return Err(foreign("kubeconfig")) };
        // Nobody edits a token.
        path::revert(ctx, prior, true, force)
    }
}

/// JSON is YAML, so this is a kubeconfig.
fn text(it: &ClientConfig, token: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "cluster", "cluster": { "server": it.server, "certificate-authority-data": it.authority } }],
        "users": [{ "name": it.account, "user": { "token": token } }],
        "contexts": [{ "name": "here", "context": { "cluster": "cluster", "user": it.account, "namespace": it.namespace } }],
        "current-context": "here",
    })
}

/// When a token ends: the claim `exp` in its middle part.
pub(crate) fn expiry(token: &str) -> Option<SystemTime> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(claims["exp"].as_u64()?))
}

#[cfg(test)]
mod tests {
    use swdt_wire::Secret;

    use super::*;

    fn token(seconds: i64) -> Secret {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
        let claims = json!({ "exp": now + seconds }).to_string();
        Secret::new(format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims)))
    }

    fn config(token: Option<Secret>) -> ClientConfig {
        ClientConfig {
            path: "/k/flannel.conf".into(),
            server: "https://api:6443".into(),
            authority: "Q0E=".into(),
            namespace: "kube-flannel".into(),
            account: "flannel".into(),
            token,
            renew_days: 30,
        }
    }

    #[test]
    fn a_token_is_renewed_before_it_ends() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        let day = 24 * 3600;
        let wanted = config(None);
        assert!(wanted.apply(&ctx, &Prior::Nothing).unwrap_err().message.contains("holds none"));
        config(Some(token(20 * day))).apply(&ctx, &Prior::Nothing).unwrap();
        assert_eq!(wanted.check(&ctx).unwrap(), Status::Differs("its token comes to its end".into()));
        config(Some(token(40 * day))).apply(&ctx, &Prior::Nothing).unwrap();
        assert_eq!(wanted.check(&ctx).unwrap(), Status::Satisfied);
        let elsewhere = ClientConfig { server: "https://other:6443".into(), ..wanted };
        assert_eq!(elsewhere.check(&ctx).unwrap(), Status::Differs("other contents".into()));
    }
}
