//! The documentation as a web site.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use crate::sh::{self, Result};

const MDBOOK: &str = "0.5.4";

/// Builds the site and says where it is.
pub(crate) fn run() -> Result<()> {
    let site = build()?;
    sh::say(&site.join("index.html").to_string_lossy());
    Ok(())
}

/// Builds the site. The program that does it is compiled once, into the cache.
pub(crate) fn build() -> Result<PathBuf> {
    let tools = sh::cache().join("tools").join(format!("mdbook-{MDBOOK}"));
    let mdbook = tools.join("bin/mdbook");
    if !mdbook.exists() {
        let root = tools.to_string_lossy().into_owned();
        // Without its web server. Not optimised: it is quick enough, and compiled sooner.
        sh::cargo(&["install", "mdbook", "--version", MDBOOK, "--locked", "--root", &root])
            .args(&["--debug", "--no-default-features", "--features", "search"])
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .run()?;
    }
    let site = sh::target().join("book");
    sh::command(&mdbook.to_string_lossy())
        .args(&["build", "docs", "--dest-dir", &site.to_string_lossy()])
        .run()?;
    Ok(site)
}

/// The pages of a site, each with its links that lead nowhere. Links to other sites are not followed.
pub(crate) fn dead_links(site: &Path) -> Result<Vec<(String, Vec<String>)>> {
    let mut pages = BTreeMap::new();
    read(site, site, &mut pages)?;
    let judged = pages.iter().map(|(page, text)| {
        let dead = links(text).filter(|link| !leads_somewhere(site, &pages, page, link));
        (page.to_string_lossy().into_owned(), dead.map(str::to_owned).collect())
    });
    Ok(judged.collect())
}

/// All pages below a directory, by their paths in the site.
fn read(site: &Path, dir: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
    for entry in fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            read(site, &path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let name = path.strip_prefix(site).unwrap_or(&path).to_owned();
            pages.insert(name, fs::read_to_string(&path).map_err(failed)?);
        }
    }
    Ok(())
}

fn links(page: &str) -> impl Iterator<Item = &str> {
    let values = ["href=\"", "src=\""].into_iter().flat_map(|name| page.split(name).skip(1));
    let links = values.filter_map(|rest| rest.split('"').next());
    links.filter(|link| !["://", "mailto:", "data:"].iter().any(|scheme| link.contains(scheme)))
}

/// Is there such a file, and such a place in it?
fn leads_somewhere(site: &Path, pages: &BTreeMap<PathBuf, String>, page: &Path, link: &str) -> bool {
    let (file, place) = link.split_once('#').unwrap_or((link, ""));
    let target = match file.strip_prefix('/') {
        Some(file) => PathBuf::from(file),
        None if file.is_empty() => page.to_owned(),
        None => page.with_file_name(file),
    };
    let Some(target) = inside(&target) else { return false };
    match pages.get(&target) {
        Some(text) => place.is_empty() || text.contains(&format!("id=\"{place}\"")),
        None => place.is_empty() && site.join(target).exists(),
    }
}

/// The path without `..`; none when it leaves the site.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut walked = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if !walked.pop() => return None,
            Component::ParentDir => {}
            part => walked.push(part),
        }
    }
    Some(walked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let page = r##"<a href="other.html#there">, <a href="#here">, <h2 id="here">, <img src="../up.png">,
            <a href="sub/x.html">, <a href="https://example.org">, <a href="other.html#gone">, <a href="none.html">"##;
        let site = Path::new("/nowhere");
        let pages = BTreeMap::from([
            ("index.html".into(), page.to_owned()),
            ("other.html".into(), r#"<h2 id="there">"#.to_owned()),
            ("sub/x.html".into(), r#"<a href="../index.html">"#.to_owned()),
        ]);
        let dead = |name: &str| {
            let dead = links(&pages[Path::new(name)])
                .filter(|link| !leads_somewhere(site, &pages, Path::new(name), link));
            dead.collect::<Vec<_>>()
        };
        assert_eq!(dead("index.html"), ["other.html#gone", "none.html", "../up.png"]);
        assert_eq!(dead("sub/x.html"), Vec::<&str>::new());
    }
}
