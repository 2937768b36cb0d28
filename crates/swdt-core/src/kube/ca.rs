//! The hash of a certificate's public key, as kubeadm pins it.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

/// `sha256:…` of the key in a PEM certificate that is itself in base64, as kubeconfigs hold it.
pub(crate) fn hash(data: &str) -> Option<String> {
    let pem = String::from_utf8(STANDARD.decode(data.trim()).ok()?).ok()?;
    let body = pem.split("-----BEGIN CERTIFICATE-----").nth(1)?.split("-----END CERTIFICATE-----").next()?;
    let der = STANDARD.decode(body.split_whitespace().collect::<String>()).ok()?;
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(public_key(&der)?) {
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

/// SubjectPublicKeyInfo: the seventh field of the certificate's body, after version, serial number,
/// algorithm, issuer, validity and subject.
pub(crate) fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let (outer, _) = value(certificate)?;
    let (mut body, _) = value(outer)?;
    for _ in 0..6 {
        body = &body[value(body)?.1..];
    }
    body.get(..value(body)?.1)
}

/// The contents of the first DER value, and its whole length.
fn value(der: &[u8]) -> Option<(&[u8], usize)> {
    let first = usize::from(*der.get(1)?);
    let (length, head) = if first < 0x80 {
        (first, 2)
    } else {
        let bytes = der.get(2..2 + (first & 0x7f))?;
        let length = bytes
            .iter()
            .try_fold(0_usize, |sum, byte| sum.checked_mul(256)?.checked_add(usize::from(*byte)))?;
        (length, 2 + bytes.len())
    };
    let end = head.checked_add(length)?;
    Some((der.get(head..end)?, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_openssl_computes() {
        // openssl x509 -pubkey -noout -in ca.crt | openssl pkey -pubin -outform der | sha256sum
        let pem = include_str!("test-ca.crt");
        let expected = include_str!("test-ca.sha256").trim();
        assert_eq!(hash(&STANDARD.encode(pem)).as_deref(), Some(expected));
    }

    #[test]
    fn rubbish_is_no_certificate() {
        assert_eq!(hash("!!!"), None);
        assert_eq!(
            hash(&STANDARD.encode("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----")),
            None
        );
        assert_eq!(value(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0]), None);
    }
}
