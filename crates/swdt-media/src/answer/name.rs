//! Names that Setup takes; a wrong one would stop it with a dialog.

use std::fmt;

use crate::{Error, Result};

/// The name of a Windows machine that is a node too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputerName(String);

impl ComputerName {
    /// At most 15 lower-case letters, digits and `-`, as NetBIOS and Kubernetes both want it.
    pub fn new(name: &str) -> Result<Self> {
        let bad =
            |why: &str| Err(Error::new(format!("{name:?} cannot be the name of a Windows node: {why}")));
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(plain) || name.starts_with('-') || name.ends_with('-') {
            return bad("lower-case letters, digits and `-` within it are what Kubernetes takes");
        }
        if name.len() > 15 {
            return bad("Windows takes at most 15 letters");
        }
        if name.chars().all(|c| c.is_ascii_digit()) {
            return bad("Windows wants a letter in it");
        }
        Ok(Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A product key: five times five letters and digits. It is worth money, and so is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ProductKey(String);

impl fmt::Debug for ProductKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProductKey(…)")
    }
}

impl ProductKey {
    /// Looks at its form only; whether it fits the edition is Setup's to say.
    pub fn new(key: &str) -> Result<Self> {
        let groups: Vec<&str> = key.split('-').collect();
        let group = |group: &&str| group.len() == 5 && group.chars().all(|c| c.is_ascii_alphanumeric());
        if groups.len() != 5 || !groups.iter().all(group) {
            let error = Error::new("the product key is not five groups of five letters and digits");
            return Err(error.hinted("an evaluation needs none: leave it out"));
        }
        Ok(Self(key.to_uppercase()))
    }

    /// The key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_letters_and_digits() {
        assert_eq!(
            ProductKey::new("abcd2-fghj3-klmn4-pqrs5-tuvw6").unwrap().as_str(),
            "ABCD2-FGHJ3-KLMN4-PQRS5-TUVW6"
        );
        for key in ["", "ABCDE", "ABCD-EFGHJ-KLMNP-QRSTU-VWXYZ", "ABCDÉ-FGHJK-LMNPQ-RSTUV-WXYZ2"] {
            let why = ProductKey::new(key).unwrap_err().to_string();
            assert!(why.contains("letters and digits"), "{why}");
        }
    }
}
