//! Builds the plugin that QEMU loads, to be embedded.

#[path = "../../simulate/trace-plugin/embed.rs"]
mod embed;

fn main() {
    embed::build(
        "profile-plugin",
        &["../../simulate/mmu/src/tlb", "../../simulate/trace/src/reference.rs"],
    );
}
