//! Builds the page of the playground from its program: `playground-page PROGRAM.wasm PAGE.html`.

use std::error::Error;
use std::io::Write;
use std::{env, fs};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use render::filled_page;

const PAGE: &str = include_str!("../../../../../web/playground.html");
const SCRIPT: &str = include_str!("../../../../../web/playground.js");
const WORKER: &str = include_str!("../../../../../web/wasi.js");

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [program, page] = &arguments[..] else {
        return Err("usage: playground-page PROGRAM.wasm PAGE.html".into());
    };
    let bytes = fs::read(program).map_err(|error| format!("{program}: {error}"))?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&bytes)?;
    let packed = STANDARD.encode(packed.finish()?);
    let text = filled_page(PAGE, true, |name, page| match name {
        "program" => *page += &packed,
        "worker" => *page += WORKER,
        "playground" => *page += SCRIPT,
        other => debug_assert!(false, "{other} is not part of the page"),
    })?;
    fs::write(page, text).map_err(|error| format!("{page}: {error}").into())
}
