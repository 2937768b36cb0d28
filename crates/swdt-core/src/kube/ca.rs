//! Of a certificate: the hash of its public key, as kubeadm pins it, and its end.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// The tag of a time in DER, the shorter of two sorts.
const UTC_TIME: u8 = 0x17;

/// `sha256:…` of the key in a PEM certificate that is itself in base64, as kubeconfigs hold it.
pub(crate) fn hash(data: &str) -> Option<String> {
    let der = certificate(data)?;
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(public_key(&der)?) {
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

/// Until when such a certificate is valid.
pub(crate) fn valid_until(data: &str) -> Option<Timestamp> {
    let der = certificate(data)?;
    let (outer, _) = value(&der)?;
    let (mut body, _) = value(outer)?;
    // Version, serial number, algorithm and issuer come before.
    for _ in 0..4 {
        body = &body[value(body)?.1..];
    }
    let (validity, _) = value(body)?;
    let until = &validity[value(validity)?.1..];
    let text = str::from_utf8(value(until)?.0).ok()?;
    // UTCTime has two digits for the year, which are of this century in every certificate of Kubernetes.
    let text = if *until.first()? == UTC_TIME { format!("20{text}") } else { text.to_owned() };
    let time = jiff::civil::DateTime::strptime("%Y%m%d%H%M%SZ", text).ok()?;
    time.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|time| time.timestamp())
}

/// The certificate in a PEM file that is itself in base64.
fn certificate(data: &str) -> Option<Vec<u8>> {
    let pem = String::from_utf8(STANDARD.decode(data.trim()).ok()?).ok()?;
    let body = pem.split("-----BEGIN CERTIFICATE-----").nth(1)?.split("-----END CERTIFICATE-----").next()?;
    STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
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
    fn the_end_is_the_one_openssl_tells() {
        // openssl x509 -enddate -noout -in ca.crt
        let until = valid_until(&STANDARD.encode(include_str!("test-ca.crt")));
        assert_eq!(until, "2036-11-12T23:17:44Z".parse().ok());
        assert_eq!(valid_until("!!!"), None);
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
