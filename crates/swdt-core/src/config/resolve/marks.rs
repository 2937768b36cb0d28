//! Labels and taints of a node: the user's, and those that say what it is.

use std::collections::BTreeMap;

use super::{Resolver, Site, v1};
use crate::{
    config::marks,
    id,
    spec::{Effect, ProviderName, REHEARSAL_KEY, Taint},
};

impl Resolver<'_> {
    pub(super) fn labels(
        &mut self,
        raw: &v1::Node,
        provider: Option<ProviderName>,
        site: Site<'_>,
    ) -> BTreeMap<String, String> {
        let site = site.key("labels");
        let mut labels = BTreeMap::new();
        for (key, value) in raw.labels.iter().flatten().filter(|(key, _)| !site.key(key).bad()) {
            let value = value.as_deref().unwrap_or_default();
            labels.extend(self.take(marks::label(key, value), site.key(key)));
        }
        if provider == Some(ProviderName::Rehearsal) {
            labels.insert(REHEARSAL_KEY.to_owned(), "true".to_owned());
        }
        labels
    }

    /// None when nothing is said, which is not the same as none at all: kubeadm taints a control plane then.
    pub(super) fn taints(
        &mut self,
        raw: &v1::Node,
        provider: Option<ProviderName>,
        site: Site<'_>,
    ) -> Option<Vec<Taint>> {
        let site = site.key("taints");
        let mut taints = raw.taints.as_ref().map(|_| Vec::<Taint>::new());
        for (index, text) in raw.taints.iter().flatten().enumerate() {
            let site = site.item(index);
            let Some(taint) = text.as_deref().and_then(|text| self.take(marks::taint(text), site)) else {
                continue;
            };
            let taints = taints.get_or_insert_default();
            if taints.iter().any(|other| (&other.key, other.effect) == (&taint.key, taint.effect)) {
                let message = format!("the node has a taint `{}` of this effect already", taint.key);
                self.report(id::LABEL_INVALID, site, message, "keep one of them");
            }
            taints.push(taint);
        }
        if provider == Some(ProviderName::Rehearsal) {
            let rehearsal =
                Taint { key: REHEARSAL_KEY.to_owned(), value: "true".to_owned(), effect: Effect::NoSchedule };
            taints.get_or_insert_default().push(rehearsal);
        }
        taints
    }
}
