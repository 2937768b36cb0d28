//! Bootstrap tokens: made when a node must join, deleted afterwards, never stored on our side.

use serde_json::json;
use swdt_wire::Secret;

use crate::{Error, ErrorKind, Result};

/// Should we die before we delete it, the cluster does.
const MINUTES: i64 = 30;

/// A bootstrap token.
pub(crate) struct Token {
    id: String,
    secret: Secret,
}

impl Token {
    pub(super) fn random() -> Result<Self> {
        Ok(Self { id: random_text(6)?, secret: Secret::new(random_text(16)?) })
    }

    /// As `kubeadm join` wants it.
    pub(crate) fn value(&self) -> Secret {
        Secret::new(format!("{}.{}", self.id, self.secret.expose()))
    }

    pub(super) fn object_name(&self) -> String {
        format!("bootstrap-token-{}", self.id)
    }

    /// The Secret that makes the cluster know it.
    pub(super) fn object(&self) -> Secret {
        let expires = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(MINUTES);
        let object = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": self.object_name(), "namespace": "kube-system" },
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {
                "token-id": self.id,
                "token-secret": self.secret.expose(),
                "expiration": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                "usage-bootstrap-authentication": "true",
                "usage-bootstrap-signing": "true",
                "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
            },
        });
        Secret::new(object.to_string())
    }
}

/// Letters and digits nobody can guess.
fn random_text(length: usize) -> Result<String> {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::Internal, format!("no random numbers to be had: {error}")))?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_kubeadms_shape_and_is_not_printed() {
        let token = Token::random().unwrap();
        let value = token.value();
        let (id, secret) = value.expose().split_once('.').unwrap();
        assert_eq!((id.len(), secret.len()), (6, 16));
        assert!(value.expose().chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.'));
        assert!(!format!("{:?}", token.object()).contains(secret));
        assert_ne!(Token::random().unwrap().value(), token.value());
    }
}
