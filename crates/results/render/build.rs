//! Compresses the script that draws charts, which the program embeds.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::ZlibEncoder;

const VEGA: &str = "../../../web/dist/vega.js";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={VEGA}");
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("vega.js.z");
    let mut packed = ZlibEncoder::new(File::create(out)?, Compression::best());
    io::copy(&mut File::open(VEGA)?, &mut packed)?;
    packed.finish()?.flush()?;
    Ok(())
}
