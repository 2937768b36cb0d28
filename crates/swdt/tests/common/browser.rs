//! A real browser, spoken to over two pipes by the DevTools protocol; it reaches nothing but files.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

/// Debian's name of it.
const PROGRAM: &str = "chromium";
/// The browser's end of the pipes is at 3 and 4. Nothing in here is a value.
const PIPES: &str = r#"exec "$@" 3<&0 4>&1 1>&2 </dev/null"#;

pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    calls: u64,
    events: VecDeque<Value>,
    _profile: tempfile::TempDir,
}

/// A page as somebody sees it.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) width: u64,
    pub(crate) scheme: &'static str,
}

impl Browser {
    /// Starts it; none where there is no such program.
    pub(crate) fn start() -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        let found = Command::new(PROGRAM).arg("--version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            return None;
        }
        let mut child = Command::new("sh")
            .args(["-c", PIPES, "sh", PROGRAM, "--headless", "--remote-debugging-pipe"])
            // Its own walls need rights that tests as root in a container do not have; it opens our own page only.
            .args(["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let (session, calls, events) = (None, 0, VecDeque::new());
        let mut browser = Self { child, input, output, session, calls, events, _profile: profile };
        let target =
            browser.call("Target.createTarget", &json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", &json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(ToOwned::to_owned);
        for domain in ["Page", "Log", "Runtime", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Opens a file and gives everything that the console and the network have to say about it.
    pub(crate) fn open(&mut self, page: &Path, look: &Look) -> Vec<Value> {
        let metrics =
            json!({ "width": look.width, "height": 800, "deviceScaleFactor": 1, "mobile": look.width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": look.scheme }] });
        self.call("Emulation.setEmulatedMedia", &scheme);
        self.events.clear();
        let url = format!("file://{}", page.display());
        self.call("Page.navigate", &json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push_back(event);
        }
        let asked = |event: &Value| {
            let url = event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned();
            event["method"] == "Network.requestWillBeSent"
                && !url.starts_with("file:")
                && !url.starts_with("data:")
        };
        let complaint = |event: &Value| {
            let method = event["method"].as_str().unwrap_or_default();
            ["Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"].contains(&method)
        };
        self.events.drain(..).filter(|event| asked(event) || complaint(event)).collect()
    }

    /// What an expression is worth on the open page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    fn receive(&mut self) -> Value {
        let mut message = Vec::new();
        self.output.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&message).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends its own processes; killed, it would leave some.
        let close = json!({ "id": self.calls + 1, "method": "Browser.close" });
        let asked = self.input.write_all(format!("{close}\0").as_bytes());
        if asked.is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
