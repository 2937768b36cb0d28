//! Resolves everything that a cluster needs into a cache and tells how long each took. By hand:
//! `cargo run --example prefetch -- CACHE VERSION [windows]`.

use std::time::Instant;

use semver::Version;
use swdt_core::{
    Result, catalog,
    event::{EventKind, Reporter},
    source::{Artifact, Piece, Settings, Sources, Want, image, lock::Lock},
    spec::Platform,
};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example for a terminal")]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (cache, version) = (args[0].clone(), Version::parse(&args[1]).expect("a version"));
    let platform = if args.len() > 2 { Platform::WindowsAmd64 } else { Platform::LinuxAmd64 };
    let reporter = Reporter::new(|_, kind| match kind {
        EventKind::Doing { what } => println!("  {what}"),
        EventKind::Warning { message } => println!("  ! {message}"),
        _ => (),
    });
    let sources = Sources::new(Settings::new(cache), reporter)?;
    let versions = catalog::defaults(&version)?;
    let mut groups: Vec<(String, Vec<Want>)> = Vec::new();
    for piece in Piece::all() {
        let version = versions.of(piece.as_str());
        let want = Want { piece, platform, version: version.clone(), source: None };
        match groups.iter_mut().find(|(known, _)| *known == version.to_string()) {
            Some((_, wants)) => wants.push(want),
            None => groups.push((version.to_string(), vec![want])),
        }
    }
    let mut lock = Lock::default();
    for (version, wants) in groups {
        let begun = Instant::now();
        let names: Vec<_> = wants.iter().map(|want| want.piece.as_str()).collect();
        println!("{version}: {}", names.join(" "));
        match sources.resolve(&wants, &mut lock).await {
            Ok(supplies) => {
                for (want, supply) in wants.iter().zip(&supplies) {
                    supply.programs().iter().for_each(tell);
                    if platform == Platform::LinuxAmd64 && image::pieces().any(|piece| piece == want.piece) {
                        let name = versions.image(want.piece.as_str()).unwrap_or_default();
                        tell(&sources.image(want.piece, &name, platform, &supply.programs()[0]).await?);
                    }
                }
            }
            Err(error) => println!("  FAILED {error} {:?} {:?}", error.output, error.hints),
        }
        println!("= {} took {:.1} s", names.join(" "), begun.elapsed().as_secs_f64());
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example for a terminal")]
fn tell(artifact: &Artifact) {
    println!("  {} {} {} MB {}", &artifact.sha256[..12], artifact.name, artifact.size >> 20, artifact.from);
}
