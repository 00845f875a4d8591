//! Builds the plugin that QEMU loads, to be embedded.

#[path = "../trace-plugin/embed.rs"]
mod embed;

fn main() {
    embed::build("trace-plugin", &[]);
}
