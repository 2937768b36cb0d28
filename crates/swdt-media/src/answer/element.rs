//! Elements of an answer file. They are written by a writer of XML, so that no value can break out of its place.

use quick_xml::{
    Writer,
    events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event},
};

use crate::{Error, Result};

/// An element with either text or children.
#[derive(Debug, Clone)]
pub(super) struct Element {
    name: String,
    attributes: Vec<(&'static str, String)>,
    text: Option<String>,
    children: Vec<Element>,
}

impl Element {
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    pub(super) fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>) -> std::io::Result<()> {
        let mut start = BytesStart::new(&self.name);
        for (name, value) in &self.attributes {
            start.push_attribute((*name, value.as_str()));
        }
        writer.write_event(Event::Start(start))?;
        if let Some(text) = &self.text {
            writer.write_event(Event::Text(BytesText::new(text)))?;
        }
        self.children.iter().try_for_each(|child| child.write(writer))?;
        writer.write_event(Event::End(BytesEnd::new(&self.name)))
    }
}

pub(super) fn node(name: &str, children: impl IntoIterator<Item = Element>) -> Element {
    let children = children.into_iter().collect();
    Element { name: name.to_owned(), attributes: Vec::new(), text: None, children }
}

pub(super) fn text(name: &str, value: impl Into<String>) -> Element {
    node(name, []).with_text(value)
}

/// A member of a list, which Setup wants marked as such; some with a number, from one.
pub(super) fn add(name: &str, number: usize, numbered: bool) -> Element {
    let element = node(name, []).with("wcm:action", "add");
    if numbered { element.with("wcm:keyValue", number.to_string()) } else { element }
}

/// The members of a list.
pub(super) fn list(
    name: &str,
    members: impl IntoIterator<Item = Vec<Element>>,
    numbered: bool,
) -> Vec<Element> {
    let member = |(at, children)| Element { children, ..add(name, at + 1, numbered) };
    members.into_iter().enumerate().map(member).collect()
}

/// The whole file.
pub(super) fn document(root: &Element) -> Result<String> {
    let root = root
        .clone()
        .with("xmlns", "urn:schemas-microsoft-com:unattend")
        .with("xmlns:wcm", "http://schemas.microsoft.com/WMIConfig/2002/State");
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let written = writer
        .write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))
        .and_then(|()| root.write(&mut writer));
    written.map_err(|error| Error::new(format!("the answer file cannot be written: {error}")))?;
    let mut bytes = writer.into_inner();
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|error| Error::new(format!("the answer file is no text: {error}")))
}
