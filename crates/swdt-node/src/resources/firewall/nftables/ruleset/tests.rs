use super::*;

/// Of nft 1.0.6, rules made by iptables 1.8.9.
const IPTABLES: &str = r#"{"nftables": [{"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}},
{"chain": {"family": "ip", "table": "filter", "name": "INPUT", "handle": 1, "type": "filter", "hook": "input", "prio": 0, "policy": "accept"}},
{"rule": {"family": "ip", "table": "filter", "chain": "INPUT", "handle": 2, "expr": [{"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "lo"}}, {"counter": {"packets": 0, "bytes": 0}}, {"accept": null}]}},
{"rule": {"family": "ip", "table": "filter", "chain": "INPUT", "handle": 3, "expr": [{"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 10250}}, {"counter": {"packets": 0, "bytes": 0}}, {"accept": null}]}},
{"rule": {"family": "ip", "table": "filter", "chain": "INPUT", "handle": 4, "expr": [{"match": {"op": "==", "left": {"meta": {"key": "l4proto"}}, "right": "tcp"}}, {"xt": {"type": "match", "name": "multiport"}}, {"counter": {"packets": 0, "bytes": 0}}, {"drop": null}]}},
{"rule": {"family": "ip", "table": "filter", "chain": "INPUT", "handle": 5, "expr": [{"limit": {"rate": 3, "burst": 5, "per": "minute"}}, {"counter": {"packets": 0, "bytes": 0}}, {"xt": {"type": "target", "name": "LOG"}}]}},
{"rule": {"family": "ip", "table": "filter", "chain": "INPUT", "handle": 6, "expr": [{"counter": {"packets": 0, "bytes": 0}}, {"xt": {"type": "target", "name": "REJECT"}}]}}]}"#;

fn tcp(from: u16, to: u16) -> PortRange {
    PortRange { protocol: Protocol::Tcp, from, to }
}

#[test]
fn rules_of_iptables() {
    let chains = chains(IPTABLES);
    assert_eq!(chains.len(), 1);
    assert_eq!(chains[0].to_string(), "ip filter INPUT");
    assert!(chains[0].of_iptables() && !chains[0].drops);
    let rules = rules(IPTABLES);
    assert_eq!(
        rules.iter().map(|rule| rule.blocks_all).collect::<Vec<_>>(),
        [false, false, false, false, true]
    );
    assert_eq!(rules[1].opens, [tcp(10250, 10250)]);
    assert_eq!(rules[0].opens, [], "loopback is not everybody");
}

#[test]
fn sets_ranges_and_comments() {
    let json = r#"{"nftables": [
{"rule": {"handle": 7, "comment": "swdt", "expr": [{"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": {"set": [22, {"range": [30000, 32767]}]}}}, {"accept": null}]}},
{"rule": {"handle": 8, "expr": [{"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "saddr"}}, "right": "10.0.0.1"}}, {"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 22}}, {"accept": null}]}},
{"rule": {"handle": 9, "expr": [{"match": {"op": "!=", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 22}}, {"accept": null}]}}]}"#;
    let rules = rules(json);
    assert_eq!((rules[0].handle, rules[0].comment.as_deref()), (7, Some("swdt")));
    assert_eq!(rules[0].opens, [tcp(22, 22), tcp(30000, 32767)]);
    assert_eq!(rules[1].opens, [], "only for one source");
    assert_eq!(rules[2].opens, []);
}

#[test]
fn other_words_are_no_rules() {
    assert_eq!(chains("Operation not permitted"), []);
    assert_eq!(rules(""), []);
}
